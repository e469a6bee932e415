import type { CallerKind } from '../../shared/domain/caller.ts';
import type { RequestFault } from '../../shared/domain/request-fault.ts';
import { TransientError } from '../../shared/domain/service-error.ts';
import type { Imprint, Proof } from '../../shared/domain/stamp.ts';
import type { StampTier } from '../../shared/domain/tiers.ts';

/** The input of a stamp. */
export interface StampSubject {
  readonly tokenId: string;
  readonly imprint: Imprint;
  readonly tier: StampTier;
  /** Only a qualified provider may make it. */
  readonly requiresQualified?: boolean;
  /** The kind of caller; undefined: a stamp without a caller, which is requested by itself. */
  readonly callerKind?: CallerKind;
  /** The request parameters for the TSA: those of a client's TimeStampReq, or undefined for our own. */
  readonly asked?: AskedWords | undefined;
}

/** The parameters of a client's TimeStampReq beside its imprint (RFC 3161 §2.4.1). */
export interface AskedWords {
  readonly nonce: bigint | undefined;
  /** Dotted OID; undefined: any. */
  readonly policy: string | undefined;
  readonly hasNullParameters: boolean;
}

/** The interface of every source of time-stamps: a TSA, the pool, the mock. */
export interface TimestampProvider {
  /** The name of the provider asked first; failures are counted under it. */
  readonly name: string;
  readonly isQualified: boolean;
  /**
   * Makes a proof and verifies it before returning.
   *
   * @throws TierUnavailableError if no provider may make it; TsaRefusedError if none accepts the client's request; ProviderError if all fail; the
   *   reasons are in its causes
   */
  stamp(subject: StampSubject): Promise<Proof>;
}

/** No provider could make the stamp (E9). The reasons are only for the log. */
export class ProviderError extends TransientError {
  override readonly name: string = 'ProviderError';
}

/**
 * The TSA refused a client's request that differs from our own requests: the provider has not failed. `fault` is the TSA's reason, if it gives one.
 */
export class TsaRefusedError extends ProviderError {
  override readonly name = 'TsaRefusedError';
  readonly fault: RequestFault | undefined;

  constructor(fault: RequestFault | undefined, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.fault = fault;
  }
}

/** No configured provider may make this stamp, so none was asked (W19). This is not a provider's failure. */
export class TierUnavailableError extends ProviderError {
  override readonly name = 'TierUnavailableError';
}

/** The clock of the provider's key is not confirmed (`timeNotAvailable`, RFC 3161 §2.4.2). */
export class TimeUnavailableError extends ProviderError {
  override readonly name = 'TimeUnavailableError';
}
