import type { Imprint, Proof } from '../../shared/domain/stamp.ts';
import type { StampTier } from '../../shared/domain/tiers.ts';

/** What a provider is asked to put a time on. */
export interface StampSubject {
  readonly tokenId: string;
  readonly imprint: Imprint;
  readonly tier: StampTier;
  /** Only a qualified provider may make it (W2). */
  readonly requiresQualified?: boolean;
}

/** What every source of time-stamps offers: a TSA, the pool of them, the mock. */
export interface TimestampProvider {
  /** The name of the provider asked first; failures are counted under it. */
  readonly name: string;
  readonly isQualified: boolean;
  /**
   * Makes a proof, which is verified when it is returned.
   *
   * @throws TierUnavailableError where no provider may make it; ProviderError when none can be had; the reasons are in its causes.
   */
  stamp(subject: StampSubject): Promise<Proof>;
}

/** No provider could make the stamp (E9). The reasons are for the log, never for the client. */
export class ProviderError extends Error {
  override readonly name: string = 'ProviderError';
}

/** Nobody was asked: no provider that is configured may make this stamp (W19). It is no provider's failure. */
export class TierUnavailableError extends ProviderError {
  override readonly name = 'TierUnavailableError';
}
