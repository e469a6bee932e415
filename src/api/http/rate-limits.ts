import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { addressBucket } from './client-address.ts';

export interface RateLimit {
  /** Names the counter; routes that share a name share the count. */
  readonly name: string;
  /** Requests in one window; 0 turns the limit off. */
  readonly points: number;
  readonly durationSeconds: number;
  /** What is counted apart: an address, a workflow id. Only a hash of it is kept. */
  readonly key: (request: FastifyRequest) => string;
}

/** A hook for `onRequest` or `preHandler`. */
export type LimitHook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

export interface RateLimits {
  by(limit: RateLimit): LimitHook;
}

export interface RateLimitsDeps {
  /** A connection that fails fast: without offline queue, with a `commandTimeout`. */
  readonly redis: Redis;
  readonly keyPrefix?: string;
  /** Told of every refused request. */
  readonly onLimited?: (name: string) => void;
}

/** The address under which a client is counted; empty when the client has already closed the connection. */
export const addressKey = (request: FastifyRequest): string => addressBucket(request.ip ?? '');

/**
 * Limits in fixed windows that begin with a client's first request, counted in Redis for all processes together (R1). While Redis
 * is away or hangs each process counts alone (R4). Answers carry `RateLimit-Limit`, `-Remaining` and `-Reset`; a refusal is 429
 * with `Retry-After` (E7).
 */
export function createRateLimits({ redis, keyPrefix = '{qstamp}:limit', onLimited }: RateLimitsDeps): RateLimits {
  return {
    by({ name, points, durationSeconds, key }) {
      if (points === 0) return async () => {};
      const window = { points, duration: durationSeconds, keyPrefix: `${keyPrefix}:${name}` };
      const limiter = new RateLimiterRedis({
        ...window,
        storeClient: redis,
        rejectIfRedisNotReady: true,
        insuranceLimiter: new RateLimiterMemory(window),
      });
      return async (request, reply) => {
        const counted = await consume(limiter, hashOf(key(request)));
        const resetSeconds = Math.max(1, Math.ceil(counted.msBeforeNext / 1000));
        reply.headers({
          'RateLimit-Limit': String(points),
          'RateLimit-Remaining': String(Math.max(0, points - counted.consumedPoints)),
          'RateLimit-Reset': String(resetSeconds),
        });
        if (counted.consumedPoints <= points) return;
        onLimited?.(name);
        throw new ServiceError('rate_limited', `At most ${points} requests in ${durationSeconds} seconds; try again later.`, {
          retryAfterSeconds: resetSeconds,
        });
      };
    },
  };
}

async function consume(limiter: RateLimiterRedis, key: string): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key);
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return refused;
    throw refused;
  }
}

/** Keys hold no address and no e-mail, only this (W10). */
const hashOf = (key: string): string => createHash('sha256').update(key).digest('base64url').slice(0, 22);
