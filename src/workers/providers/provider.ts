import type { StampTier } from '../../shared/domain/tiers.ts';

/** What a provider is asked to put a time on. */
export interface StampSubject {
  readonly tokenId: string;
  /** SHA-256, lower-case hex. */
  readonly hash: string;
  readonly tier: StampTier;
  /** Only a qualified provider may make it (W2). */
  readonly requiresQualified?: boolean;
}

/** What a provider answered, already verified. */
export interface Evidence {
  readonly provider: string;
  readonly isQualified: boolean;
  /** genTime of an RFC 3161 token, else the worker's clock (S8); RFC 3339 in UTC. */
  readonly issuedAt: string;
  /** The token as clients get it: base64. */
  readonly token: string;
  /** DER of the TimeStampReq and TimeStampResp, byte for byte; absent for the mock provider. */
  readonly exchange?: { readonly tsq: Buffer; readonly tsr: Buffer };
}

/** The port behind which every source of time-stamp tokens stands. */
export interface TimestampProvider {
  /** The name of the provider asked first; failures are counted under it. */
  readonly name: string;
  readonly isQualified: boolean;
  /**
   * Makes a stamp.
   *
   * @throws ProviderError when no stamp can be had; the reasons are in its causes.
   */
  stamp(subject: StampSubject): Promise<Evidence>;
}

/** No provider could make the stamp (E9). The reasons are for the log, never for the client. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
}
