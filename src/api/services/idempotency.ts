import { createHash, createHmac, type KeyObject } from 'node:crypto';
import type { Clock } from '../../shared/clock.ts';
import { ServiceError } from '../../shared/errors.ts';
import type { IdempotencyStore } from '../../shared/store/idempotency.ts';

/** A caller's `Idempotency-Key`, and everything that makes a request the same request (S9). */
export interface IdempotentRequest {
  /** Whose key it is: the same key of another caller is another key. */
  readonly caller: string;
  readonly key: string;
  readonly operation: string;
  /** The request's content, as anything that serializes alike when it is alike. */
  readonly content: unknown;
}

export interface BoundRequest {
  /** The id of what the request makes: the same for every repetition. */
  readonly resourceId: string;
  readonly isRepeated: boolean;
  /** A secret that the same request gets again, though it is stored nowhere: whoever repeats it is shown the same answer. */
  readonly secret: string;
}

const digestOf = (parts: readonly string[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

/**
 * Binds requests to ids, so that a repetition makes nothing new: the id is the job's identity, and the answer is built again
 * from what is stored under it.
 */
export function createIdempotency(deps: { store: IdempotencyStore; key: () => Promise<KeyObject>; clock: Clock; ttlMs: number }) {
  const { store, key: serverKey, clock, ttlMs } = deps;
  return {
    /**
     * @throws ServiceError `idempotency_key_reused` when the key was used for another request; `store_unavailable`.
     */
    async bind({ caller, key, operation, content }: IdempotentRequest, freshId: string): Promise<BoundRequest> {
      const contentDigest = digestOf([JSON.stringify(content)]);
      const now = clock();
      const bound = await store.bind({
        key: digestOf([caller, operation, key]),
        requestDigest: digestOf(['request', contentDigest]),
        resourceId: freshId,
        now: new Date(now),
        expiresAt: new Date(now + ttlMs),
      });
      if (bound.requestDigest !== digestOf(['request', contentDigest])) {
        throw new ServiceError('idempotency_key_reused', 'This Idempotency-Key was used for a different request.');
      }
      const secret = createHmac('sha256', await serverKey()).update(JSON.stringify([caller, key, contentDigest, bound.resourceId]));
      return { resourceId: bound.resourceId, isRepeated: !bound.isFirst, secret: secret.digest('base64url') };
    },
  };
}

export type Idempotency = ReturnType<typeof createIdempotency>;
