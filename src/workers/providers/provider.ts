import type { CallerKind } from '../../shared/domain/caller.ts';
import type { RequestFault } from '../../shared/domain/request-fault.ts';
import { TransientError } from '../../shared/domain/service-error.ts';
import type { Imprint, Proof } from '../../shared/domain/stamp.ts';
import type { StampTier } from '../../shared/domain/tiers.ts';

/** What a provider is asked to put a time on. */
export interface StampSubject {
  readonly tokenId: string;
  readonly imprint: Imprint;
  readonly tier: StampTier;
  /** Only a qualified provider may make it (W2). */
  readonly requiresQualified?: boolean;
  /** Whose stamp it is; undefined: nobody's, and it is asked for by itself. */
  readonly callerKind?: CallerKind;
  /** In whose words the TSA is asked: those of a client's TimeStampReq (T2), or our own. */
  readonly asked?: AskedWords | undefined;
}

/** What a client's TimeStampReq asks for beside its imprint (RFC 3161 §2.4.1). */
export interface AskedWords {
  readonly nonce: bigint | undefined;
  /** Dotted OID; undefined: any. */
  readonly policy: string | undefined;
  readonly hasNullParameters: boolean;
}

/** What every source of time-stamps offers: a TSA, the pool of them, the mock. */
export interface TimestampProvider {
  /** The name of the provider asked first; failures are counted under it. */
  readonly name: string;
  readonly isQualified: boolean;
  /**
   * Makes a proof, which is verified when it is returned.
   *
   * @throws TierUnavailableError where no provider may make it; TsaRefusedError where none takes the client's request; ProviderError when none can be had; the reasons are in its causes.
   */
  stamp(subject: StampSubject): Promise<Proof>;
}

/** No provider could make the stamp (E9). The reasons are for the log, never for the client. */
export class ProviderError extends TransientError {
  override readonly name: string = 'ProviderError';
}

/**
 * A client's request was refused, and it is of a form that we would not have sent: the provider has not failed. `fault` is what the
 * provider finds wrong with it, where it says so.
 */
export class TsaRefusedError extends ProviderError {
  override readonly name = 'TsaRefusedError';
  readonly fault: RequestFault | undefined;

  constructor(fault: RequestFault | undefined, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.fault = fault;
  }
}

/** Nobody was asked: no provider that is configured may make this stamp (W19). It is no provider's failure. */
export class TierUnavailableError extends ProviderError {
  override readonly name = 'TierUnavailableError';
}

/** The clock that a provider would stamp by is not confirmed (`timeNotAvailable`, RFC 3161 §2.4.2). */
export class TimeUnavailableError extends ProviderError {
  override readonly name = 'TimeUnavailableError';
}
