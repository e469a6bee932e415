import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import type { RateSettings } from '../trust/providers-file.ts';
import { keyPrefix } from './connection.ts';

/**
 * The requests of the last period are in a sorted set. The score of a request is the last time at which it may have reached the provider, by Redis'
 * clock: when its answer came, or until then, when its longest possible time ends. ARGV: the period and the longest time in milliseconds, the allowed
 * requests, and the id of a request to take (empty: only read). Returns the requests that are left, the milliseconds until the next one may go, and
 * whether this one may go.
 */
const takeOrRead = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[1])
  local left = ARGV[3] - redis.call('ZCARD', KEYS[1])
  local isTaken = 0
  if ARGV[4] ~= '' and left > 0 then
    redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[4])
    redis.call('PEXPIRE', KEYS[1], ARGV[1] + ARGV[2])
    left = left - 1
    isTaken = 1
  end
  if left > 0 then return { left, 0, isTaken } end
  local excess = math.abs(left)
  local next = redis.call('ZRANGE', KEYS[1], excess, excess, 'WITHSCORES')
  return { 0, next[2] + ARGV[1] + 1 - now, isTaken }
`;
/** Notes that a request has its answer, in milliseconds rounded up: it may have reached the provider a moment ago. ARGV: the id of the request. */
const noteAnswer = `
  local time = redis.call('TIME')
  redis.call('ZADD', KEYS[1], 'XX', time[1] * 1000 + math.ceil(time[2] / 1000), ARGV[1])
`;

/** Gives a request back that was not sent. ARGV: the id of the request. */
const giveBack = `redis.call('ZREM', KEYS[1], ARGV[1])`;

/** A request that may be sent now. */
export interface TakenRequest {
  /** Call it when the answer is there. Without this the request counts a little longer. */
  answered(): void;
  /** Call it if the request is not sent. */
  giveBack(): void;
}

/** What is left of the rate, as this process last saw it. `nextInMs`: 0 if a request may go now. */
export interface RateView {
  readonly left: number;
  readonly nextInMs: number;
}

/** Counts the requests of all workers to one provider in a sliding window, so that they never exceed what the provider allows. */
export interface RequestRate {
  readonly settings: RateSettings;
  /** A request under way counts as if it took this long, in milliseconds. Mostly it ends earlier, and so does the time until the next one. */
  readonly longestMs: number;
  /**
   * Takes one request, which must be sent at once. Resolves with undefined if no request is left, or Redis could not count it.
   */
  take(): Promise<TakenRequest | undefined>;
  view(): RateView;
  /** Reads what other workers have taken. @throws an error of Redis */
  refresh(): Promise<void>;
}

/** `longestMs`: the longest time of one request, in milliseconds. */
export function openRequestRate(options: {
  redis: Redis;
  name: string;
  settings: RateSettings;
  longestMs: number;
  log: Logger;
}): RequestRate {
  const { redis, name, settings, longestMs, log } = options;
  const key = `${keyPrefix}:requests:${name}`;
  let left = settings.requests;
  /** By `performance.now()`. */
  let nextAt = 0;

  async function run(id: string): Promise<boolean> {
    const answer = await redis.eval(takeOrRead, 1, key, settings.perSeconds * 1_000, longestMs, settings.requests, id);
    const [stillLeft, nextInMs, isTaken] = answer as [number, number, number];
    left = stillLeft;
    nextAt = performance.now() + nextInMs;
    return isTaken === 1;
  }

  const report = (error: unknown) => void log.warn({ err: error, provider: name }, 'Redis could not count a request to a provider');

  return {
    settings,
    longestMs,
    take: async () => {
      const id = randomUUID();
      const note = (script: string) => () => void Promise.all([redis.eval(script, 1, key, id), run('')]).catch(report);
      return (await run(id).catch(report)) ? { answered: note(noteAnswer), giveBack: note(giveBack) } : undefined;
    },
    view: () => ({ left, nextInMs: left > 0 ? 0 : Math.max(0, nextAt - performance.now()) }),
    refresh: async () => void (await run('')),
  };
}
