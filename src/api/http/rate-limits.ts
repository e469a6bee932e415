import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError } from '../../shared/domain/service-error.ts';

/** How many requests a counter allows in how long. */
interface Window {
  /** The name of the counter. Routes that use the same name share the count. */
  readonly name: string;
  /** The maximum number of requests in one window; 0 turns the limit off. */
  readonly points: number;
  readonly durationSeconds: number;
}

export interface RateLimit extends Window {
  /** The name of the items that `items` counts, for messages. If set, `items` sends no headers, so that headers describe only requests. */
  readonly unit?: string;
  /** The code of a refusal; default `rate_limited`. */
  readonly code?: 'rate_limited' | 'recipient_limited';
  /** Returns the key of a request, for example a client address. Each key has its own count. Only a hash of the key is stored. */
  readonly key: (request: FastifyRequest) => string;
}

/** A hook for `onRequest` or `preHandler`. */
export type LimitHook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

type RateLimits = ReturnType<typeof createRateLimits>;
export type Tries = ReturnType<RateLimits['tries']>;

/** The address under which limits count a client; empty if the client has already closed the connection. */
export const addressKey = (request: FastifyRequest): string => addressBucket(request.ip ?? '');

/** The id of a caller that acts as a product, or else of its address. */
export const callerIdOf = (request: FastifyRequest, product: string | undefined): string =>
  product === undefined ? `agent:${addressKey(request)}` : `product:${product}`;

/**
 * Creates limits in fixed windows that begin with a client's first request. Redis counts for all processes together (R1). While Redis does not
 * answer, each process counts alone. `redis` fails quickly: it has no offline queue, and a `commandTimeout`. `onLimited` gets the name of the limit for
 * every refused request. Answers have the headers `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11), and those of an older
 * draft: `RateLimit-Limit`, `-Remaining` and `-Reset`. A refusal is 429 with `Retry-After`.
 */
export function createRateLimits(redis: Redis, onLimited: (name: string) => void, keyPrefix: string) {
  /** Creates the counter of a limit. It returns the count in the current window, and the seconds until the window ends. */
  const counterOf = ({ name, points, durationSeconds }: Window) => {
    const window = { points, duration: durationSeconds, keyPrefix: `${keyPrefix}:${name}` };
    const limiter = new RateLimiterRedis({
      ...window,
      storeClient: redis,
      rejectIfRedisNotReady: true,
      insuranceLimiter: new RateLimiterMemory(window),
    });
    const stateOf = ({ consumedPoints, msBeforeNext }: RateLimiterRes) => ({
      counted: consumedPoints,
      resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
    });
    return {
      count: async (key: string, items = 1) => stateOf(await consume(limiter, hashOf(key), items)),
      takeBack: async (key: string, items = 1) => stateOf(await limiter.reward(hashOf(key), items)),
      counted: async (key: string) => (await limiter.get(hashOf(key)))?.consumedPoints ?? 0,
    };
  };
  const setHeaders = (reply: FastifyReply, { name, points, durationSeconds }: RateLimit, counted: number, resetSeconds: number) => {
    const remaining = Math.max(0, points - counted);
    reply.headers({
      RateLimit: `"${name}";r=${remaining};t=${resetSeconds}`,
      'RateLimit-Policy': `"${name}";q=${points};w=${durationSeconds}`,
      'RateLimit-Limit': String(points),
      'RateLimit-Remaining': String(remaining),
      'RateLimit-Reset': String(resetSeconds),
    });
  };
  const refusal = (limit: RateLimit, what: string, resetSeconds: number, advice = 'try again later') => {
    const { name, points, durationSeconds, code = 'rate_limited' } = limit;
    onLimited(name);
    return new ServiceError(code, `At most ${points} ${what} in ${durationSeconds} seconds (limit ${name}); ${advice}.`, {
      retryAfterSeconds: resetSeconds,
    });
  };

  return {
    /** A hook that counts a request. @throws ServiceError with the `code` of the limit */
    by(limit: RateLimit) {
      const { points, unit } = limit;
      const { count, takeBack } = counterOf(limit);
      const hook: LimitHook = async (request, reply) => {
        if (points === 0) return;
        const { counted, resetSeconds } = await count(limit.key(request));
        setHeaders(reply, limit, counted, resetSeconds);
        if (counted > points) throw refusal(limit, 'requests', resetSeconds);
      };
      return Object.assign(hook, {
        /** Counts several items at once, under `key` if it is given. If the limit has no room for all of them, none is counted. @throws like the hook */
        items: async (request: FastifyRequest, reply: FastifyReply, wanted: number, key = limit.key(request)) => {
          if (points === 0) return;
          const { counted, resetSeconds } = await count(key, wanted);
          const isRefused = counted > points;
          if (isRefused) await takeBack(key, wanted);
          if (unit === undefined) setHeaders(reply, limit, isRefused ? counted - wanted : counted, resetSeconds);
          const advice =
            wanted === 1 ? undefined : `this request has ${wanted}: ${wanted > points ? 'send fewer at once' : 'try again later'}`;
          if (isRefused) throw refusal(limit, unit ?? 'items', resetSeconds, advice);
        },
        /** Takes back one counted request or item, because it is refused for another reason. */
        giveBack: async (request: FastifyRequest, reply: FastifyReply, key = limit.key(request)) => {
          if (points === 0) return;
          const { counted, resetSeconds } = await takeBack(key);
          if (unit === undefined) setHeaders(reply, limit, counted, resetSeconds);
        },
      });
    },
    /** A limit for requests that fail because of a mistake of the caller. */
    mistakes(limit: RateLimit) {
      const { count } = counterOf(limit);
      // An address is refused until its entry expires.
      const refused = new LRUCache<string, true>({ max: mostRefused });
      const refuse = (reply: FastifyReply, resetSeconds: number) => {
        setHeaders(reply, limit, limit.points, resetSeconds);
        throw refusal(limit, 'failed requests', resetSeconds);
      };
      /**
       * Refuses an address that is beyond the limit, without counting and without Redis: this process remembers which addresses it has refused.
       *
       * @throws ServiceError `rate_limited` until the window of this address ends
       */
      const check = (request: FastifyRequest, reply: FastifyReply): void => {
        const seconds = Math.ceil(refused.getRemainingTTL(limit.key(request)) / 1_000);
        if (seconds > 0) refuse(reply, seconds);
      };
      /** Counts one mistake. @throws ServiceError `rate_limited` beyond the limit. */
      const countMistake: LimitHook = async (request, reply) => {
        if (limit.points === 0) return;
        check(request, reply);
        const { counted, resetSeconds } = await count(limit.key(request));
        if (counted <= limit.points) return;
        refused.set(limit.key(request), true, { ttl: resetSeconds * 1_000 });
        refuse(reply, resetSeconds);
      };
      return { check, count: countMistake };
    },
    /** A number of tries for each key, in a window that begins with the first try. The caller decides what happens when none is left. */
    tries(limit: Window) {
      const { count, takeBack, counted } = counterOf(limit);
      return {
        /** Takes one try. Returns how many are left; negative if there was none to take. */
        take: async (key: string) => limit.points - (await count(key)).counted,
        giveBack: async (key: string) => void (await takeBack(key)),
        left: async (key: string) => Math.max(0, limit.points - (await counted(key))),
      };
    },
  };
}

/** The maximum number of refused addresses that a process remembers. */
const mostRefused = 10_000;

async function consume(limiter: RateLimiterRedis, key: string, points: number): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key, points);
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return refused;
    throw refused;
  }
}

/** Keys in Redis contain only this hash, never a client address or an e-mail address. */
const hashOf = (key: string): string => hash('sha256', key, 'base64url').slice(0, 22);

/** Removes the port that some proxies add to an address in `X-Forwarded-For`: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (address: string): string => /^\[([^\]]*)\](?::\d+)?$|^([^:]*):\d+$/.exec(address)?.slice(1).find(Boolean) ?? address;

/** Parses an address; undefined if the text is not one. An IPv4 address in IPv6 notation becomes IPv4. */
function addressOf(given: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const text = withoutPort(given);
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

/** Creates a function that returns whether `TRUST_PROXY` contains an address. The addresses and CIDRs in `hops` were checked with the settings. */
export function createHopTrust(hops: readonly string[]): (address: string) => boolean {
  const trusted = hops.map((hop) => ipaddr.parseCIDR(hop.includes('/') ? hop : `${hop}/${ipaddr.IPv4.isValid(hop) ? 32 : 128}`));
  return (given) => {
    const address = addressOf(given);
    return address !== undefined && ipaddr.subnetMatch(address, { trusted }, 'unknown') === 'trusted';
  };
}

/**
 * The address under which rate limits count a client: an IPv4 address (also if written in IPv6 notation), or the first 56 bits of an IPv6 address,
 * because a subscriber usually gets that many networks.
 */
export function addressBucket(given: string): string {
  const address = addressOf(given);
  if (!(address instanceof ipaddr.IPv6)) return address?.toString() ?? given;
  const [first = 0, second = 0, third = 0, fourth = 0] = address.parts;
  const network = [first, second, third, fourth & 0xff00].map((group) => group.toString(16));
  return `${network.join(':')}::/56`;
}
