import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { addressBucket } from './client-address.ts';

export interface RateLimit {
  /** Names the counter; routes that share a name share the count. */
  readonly name: string;
  /** Requests in one window; 0 turns the limit off. */
  readonly points: number;
  readonly durationSeconds: number;
  /** The unit of `items` in words. If set, `items` sends no headers, so headers describe only requests. */
  readonly unit?: string;
  /** Each key has its own count: an address, a workflow id. Only a hash of it is kept. */
  readonly key: (request: FastifyRequest) => string;
}

/** A hook for `onRequest` or `preHandler`. */
export type LimitHook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** A limit for requests that fail by the caller's mistake. */
export interface MistakeLimit {
  /** Counts one mistake. @throws ServiceError `rate_limited` beyond the limit. */
  count: LimitHook;
  /**
   * Counts nothing and does not ask Redis: this process remembers which addresses it has refused.
   *
   * @throws ServiceError `rate_limited` until the window ends.
   */
  check(request: FastifyRequest, reply: FastifyReply): void;
}

/** A limit that counts requests, or the items in them. */
export interface CountingLimit extends LimitHook {
  /**
   * Counts several items at once, under `key` if given. If they do not all fit, none is counted.
   *
   * @throws ServiceError `rate_limited`
   */
  items(request: FastifyRequest, reply: FastifyReply, count: number, key?: string): Promise<void>;
}

export interface RateLimits {
  by(limit: RateLimit): LimitHook;
  mistakes(limit: RateLimit): MistakeLimit;
}

/** The limits of a process. They count items too. */
export interface CountingLimits extends RateLimits {
  by(limit: RateLimit): CountingLimit;
}

export interface RateLimitsDeps {
  /** A connection that fails fast: no offline queue, and a `commandTimeout`. */
  readonly redis: Redis;
  readonly keyPrefix?: string;
  /** Called for every refused request. */
  readonly onLimited?: (name: string) => void;
}

/** Limits count a client under this address. It is empty if the client has already closed the connection. */
export const addressKey = (request: FastifyRequest): string => addressBucket(request.ip ?? '');

/**
 * Limits in fixed windows that begin with a client's first request. Redis counts for all processes together (R1). While Redis does not
 * answer, each process counts alone. Answers carry `RateLimit-Limit`, `-Remaining` and `-Reset`; a refusal is 429 with `Retry-After`.
 */
export function createRateLimits({ redis, keyPrefix = '{qstamp}:limit', onLimited }: RateLimitsDeps): CountingLimits {
  /** Counts a request. Returns the count in this window and the seconds until it ends. */
  const counterOf = ({ name, points, durationSeconds }: RateLimit) => {
    const window = { points, duration: durationSeconds, keyPrefix: `${keyPrefix}:${name}` };
    const limiter = new RateLimiterRedis({
      ...window,
      storeClient: redis,
      rejectIfRedisNotReady: true,
      insuranceLimiter: new RateLimiterMemory(window),
    });
    const count = async (key: string, items = 1) => {
      const { consumedPoints, msBeforeNext } = await consume(limiter, hashOf(key), items);
      return { counted: consumedPoints, resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)) };
    };
    return Object.assign(count, { takeBack: (key: string, items: number) => limiter.reward(hashOf(key), items) });
  };
  const tell = (reply: FastifyReply, { points }: RateLimit, counted: number, resetSeconds: number) =>
    reply.headers({
      'RateLimit-Limit': String(points),
      'RateLimit-Remaining': String(Math.max(0, points - counted)),
      'RateLimit-Reset': String(resetSeconds),
    });
  const refusal = ({ name, points, durationSeconds }: RateLimit, what: string, resetSeconds: number, advice = 'try again later') => {
    onLimited?.(name);
    return new ServiceError('rate_limited', `At most ${points} ${what} in ${durationSeconds} seconds; ${advice}.`, {
      retryAfterSeconds: resetSeconds,
    });
  };

  return {
    by(limit) {
      if (limit.points === 0) return Object.assign(async () => {}, { items: async () => {} });
      const count = counterOf(limit);
      const hook: LimitHook = async (request, reply) => {
        const { counted, resetSeconds } = await count(limit.key(request));
        tell(reply, limit, counted, resetSeconds);
        if (counted > limit.points) throw refusal(limit, 'requests', resetSeconds);
      };
      const items: CountingLimit['items'] = async (request, reply, wanted, key = limit.key(request)) => {
        const { counted, resetSeconds } = await count(key, wanted);
        const isRefused = counted > limit.points;
        if (isRefused) await count.takeBack(key, wanted);
        if (limit.unit === undefined) tell(reply, limit, isRefused ? counted - wanted : counted, resetSeconds);
        const advice = `this request has ${wanted}: ${wanted > limit.points ? 'send fewer at once' : 'try again later'}`;
        if (isRefused) throw refusal(limit, limit.unit ?? 'items', resetSeconds, advice);
      };
      return Object.assign(hook, { items });
    },
    mistakes(limit) {
      if (limit.points === 0) return { count: async () => {}, check: () => {} };
      const count = counterOf(limit);
      // Each address is refused until its entry expires.
      const refused = new LRUCache<string, true>({ max: mostRefused });
      const refuse = (reply: FastifyReply, resetSeconds: number) => {
        tell(reply, limit, limit.points, resetSeconds);
        throw refusal(limit, 'failed requests', resetSeconds);
      };
      const check = (request: FastifyRequest, reply: FastifyReply) => {
        const seconds = Math.ceil(refused.getRemainingTTL(limit.key(request)) / 1_000);
        if (seconds > 0) refuse(reply, seconds);
      };
      return {
        check,
        async count(request, reply) {
          check(request, reply);
          const { counted, resetSeconds } = await count(limit.key(request));
          if (counted <= limit.points) return;
          refused.set(limit.key(request), true, { ttl: resetSeconds * 1_000 });
          refuse(reply, resetSeconds);
        },
      };
    },
  };
}

/** How many refused addresses a process remembers. */
const mostRefused = 10_000;

async function consume(limiter: RateLimiterRedis, key: string, points: number): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key, points);
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return refused;
    throw refused;
  }
}

/** Keys hold only this hash, never an address or an e-mail. */
const hashOf = (key: string): string => createHash('sha256').update(key).digest('base64url').slice(0, 22);
