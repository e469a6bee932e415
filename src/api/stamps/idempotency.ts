import { createHash, createHmac, type KeyObject } from 'node:crypto';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { IdempotencyStore } from '../../shared/store/idempotency.ts';

/** A caller's `Idempotency-Key`, and everything that must be equal in a repeated request. */
export interface IdempotentRequest {
  /** The owner of the key. The same key from another caller is a different key. */
  readonly caller: string;
  readonly key: string;
  readonly operation: string;
  /** The request's body, or the parsed order. The order of members does not matter. */
  readonly content: unknown;
}

export interface BoundRequest {
  /** The id of the resource that the request makes. It is the same for every repetition. */
  readonly resourceId: string;
  readonly isRepeated: boolean;
  /** A secret that is derived from the request and not stored. A repeated request gets the same secret, and so the same answer. */
  readonly secret: string;
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1);

/** JSON with sorted members, so that their order does not matter. */
const canonical = (content: unknown): string =>
  JSON.stringify(content, (_name, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort(byName)) : value,
  );

const digestOf = (parts: readonly string[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

/**
 * Gives a request and its repetitions the same resource id, so that a repetition makes nothing new (S9). The answer to a repetition is built from the
 * data stored under this id.
 */
export function createIdempotency(deps: { store: IdempotencyStore; key: () => Promise<KeyObject>; clock: Clock; ttlMs: number }) {
  const { store, key: serverKey, clock, ttlMs } = deps;
  const keyOf = ({ caller, operation, key }: Pick<IdempotentRequest, 'caller' | 'operation' | 'key'>) => digestOf([caller, operation, key]);
  return {
    /**
     * Whether the key was used before. If so, the request is a repetition or an error, and makes nothing new.
     *
     * @throws ServiceError `store_unavailable`
     */
    isKnown: (request: Pick<IdempotentRequest, 'caller' | 'operation' | 'key'>): Promise<boolean> =>
      store.isBound(keyOf(request), new Date(clock())),

    /**
     * Binds the key to the request, and to `freshId` if the key is new.
     *
     * @throws ServiceError `idempotency_key_reused` if the key was used for a different request; `store_unavailable`
     */
    async bind(request: IdempotentRequest, freshId: string): Promise<BoundRequest> {
      const { caller, key, content } = request;
      const authenticator = await serverKey();
      // The digest needs a secret key: a body may contain an e-mail address, and after redaction nobody must be able to find it by hashing guesses.
      const macOf = (...parts: string[]) => createHmac('sha256', authenticator).update(JSON.stringify(parts));
      const requestDigest = macOf('request', canonical(content)).digest('hex');
      const now = clock();
      const bound = await store.bind({
        key: keyOf(request),
        requestDigest,
        resourceId: freshId,
        now: new Date(now),
        expiresAt: new Date(now + ttlMs),
      });
      if (bound.requestDigest !== requestDigest) {
        throw new ServiceError('idempotency_key_reused', 'This Idempotency-Key was used for a different request.');
      }
      const secret = macOf('secret', caller, key, requestDigest, bound.resourceId).digest('base64url');
      return { resourceId: bound.resourceId, isRepeated: !bound.isFirst, secret };
    },
  };
}

/** Counts a request for its rate limit, and throws if the limit is used up. */
export type PassLimit = () => Promise<void>;

/** Calls `passLimit`, except for a repetition. Call it before the key is bound. */
export async function passLimitOnce(
  idempotency: Pick<Idempotency, 'isKnown'>,
  passLimit: PassLimit | undefined,
  request: Parameters<Idempotency['isKnown']>[0] | undefined,
): Promise<void> {
  if (passLimit === undefined) return;
  if (request === undefined || !(await idempotency.isKnown(request))) await passLimit();
}

export type Idempotency = ReturnType<typeof createIdempotency>;
