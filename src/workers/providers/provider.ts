import { type KeyType, X509Certificate } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type AlgorithmEnd, type AlgorithmPolicy, algorithmPolicy } from '../../shared/domain/algorithm-policy.ts';
import { TransientError } from '../../shared/domain/service-error.ts';
import type { CallerKind, EvidenceTerm, Imprint, Proof, RequestFault, StampTier } from '../../shared/domain/stamp.ts';
import type { Verified } from '../../shared/rfc3161/index.ts';

export interface StampSubject {
  readonly tokenId: string;
  readonly imprint: Imprint;
  readonly tier: StampTier;
  /** True if nobody waits for the stamp. Such stamps use at most a quarter of a provider's places. */
  readonly isPromised?: boolean;
  /** True if only a qualified provider may make the stamp. */
  readonly requiresQualified?: boolean;
  /** Undefined: the stamp has no caller, so it is never part of a batch. */
  readonly callerKind?: CallerKind;
  /** The parameters of a client's TimeStampReq; undefined if the request is our own. */
  readonly asked?: RequestParameters | undefined;
}

/** The parameters of a client's TimeStampReq, without its imprint (RFC 3161 §2.4.1). */
export interface RequestParameters {
  readonly nonce: bigint | undefined;
  /** Dotted OID; undefined: any. */
  readonly policy: string | undefined;
  readonly hasNullParameters: boolean;
}

/** The interface of every source of time-stamps: a TSA, the pool, the mock. */
export interface TimestampProvider {
  /** The name of the provider that is asked first. If no provider makes a stamp, the failure is counted under this name. */
  readonly name: string;
  readonly isQualified: boolean;
  /**
   * Makes a proof and verifies it before returning.
   *
   * @throws TierUnavailableError if no provider may make it; TsaRefusedError if no provider accepts the client's request; TimeUnavailableError if the
   *   clock is not confirmed; RateReachedError if it must be made later; ProviderError if all fail: the reasons are in its causes
   */
  stamp(subject: StampSubject): Promise<Proof>;
  /**
   * Makes sure that a stamp that must be qualified can be made. If no provider's last token shows it, a token that belongs to nobody is requested.
   *
   * @throws the same errors as `stamp`
   */
  checkQualified(): Promise<void>;
}

/** No provider could make the stamp (E9). The reasons are only for the log. */
export class ProviderError extends TransientError {
  override readonly name: string = 'ProviderError';
}

/**
 * The TSA refused a client's request that differs from our own requests, so this is not a failure of the provider. `fault` is the TSA's reason, if it
 * gives one.
 */
export class TsaRefusedError extends ProviderError {
  override readonly name = 'TsaRefusedError';
  readonly fault: RequestFault | undefined;

  constructor(fault: RequestFault | undefined, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.fault = fault;
  }
}

/**
 * No provider makes qualified stamps now: none is configured, or the token of each is not qualified (W19). It is not a failure of a provider.
 * `isPassing`: a trusted list that has not been read may change that.
 */
export class TierUnavailableError extends ProviderError {
  override readonly name = 'TierUnavailableError';
  readonly isPassing: boolean;

  constructor(detail: string, isPassing = false) {
    super(detail);
    this.isPassing = isPassing;
  }
}

/** The clock of the provider's key is not confirmed (`timeNotAvailable`, RFC 3161 §2.4.2). */
export class TimeUnavailableError extends ProviderError {
  override readonly name = 'TimeUnavailableError';
}

/** The provider allows no request now, because it had as many as its `rate` allows. It is not a failure: the stamp is made later. */
export class RateReachedError extends ProviderError {
  override readonly name = 'RateReachedError';
  /** When to try again, in milliseconds from now. */
  readonly retryInMs: number;

  /** @param early how much earlier than `nextInMs` to try again */
  constructor(nextInMs: number, early = 0) {
    super(`the rate of the provider is reached; the next request may go in ${Math.ceil(nextInMs / 1_000)} s`);
    this.retryInMs = Math.max(0, nextInMs - early);
  }
}

/** The keys of certificates, by fingerprint. TSAs have few certificates, and each signs many tokens. */
const keys = new LRUCache<string, KeyStrength>({ max: 256 });

interface KeyStrength {
  readonly type: KeyType | undefined;
  /** Size of the RSA modulus; infinite for other kinds of keys. */
  readonly bits: number;
}

function strengthOf({ fingerprint, der }: Verified['chain'][number]): KeyStrength {
  const known = keys.get(fingerprint);
  if (known) return known;
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = new X509Certificate(der).publicKey;
  const key = { type, bits: details?.modulusLength ?? Number.POSITIVE_INFINITY };
  keys.set(fingerprint, key);
  return key;
}

/** When a token's certificates expire (`endsAt`), and until when it must be renewed, also according to the algorithm policy (`renewBy`). */
export function evidenceTermOf(
  { chain, imprint }: Pick<Verified, 'chain' | 'imprint'>,
  policy: AlgorithmPolicy = algorithmPolicy,
): EvidenceTerm {
  const endsAt = Math.min(...chain.map(({ notAfter }) => notAfter.getTime()));
  const isConcerned = ({ concerns }: AlgorithmEnd): boolean => {
    if ('hash' in concerns) return concerns.hash === imprint.algorithm;
    const { key, belowBits } = concerns;
    return chain.map(strengthOf).some(({ type, bits }) => type === key && (bits < belowBits || belowBits === Number.POSITIVE_INFINITY));
  };
  const ends = policy.ends.filter(isConcerned).map(({ from }) => from.getTime());
  return { endsAt: new Date(endsAt), renewBy: new Date(Math.min(endsAt, ...ends)) };
}
