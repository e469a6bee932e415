import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import type { RateSettings } from '../trust/providers-file.ts';
import { prefixOf } from './connection.ts';

/** What all workers together note about the providers in Redis. */
export interface ProviderNotes {
  /** @param longestPauseMs the longest pause between tries of a provider that fails */
  breakerOf(name: string, longestPauseMs: number): Breaker;
  /** @param longestMs the longest time of one request, in milliseconds */
  rateOf(name: string, settings: RateSettings, longestMs: number): RequestRate;
}

export const openProviderNotes = ({ redis, log }: { redis: Redis; log: Logger }): ProviderNotes => ({
  breakerOf: (name, longestPauseMs) => openBreaker({ redis, name, longestPauseMs, log }),
  rateOf: (name, settings, longestMs) => openRequestRate({ redis, name, settings, longestMs, log }),
});

/** After so many failures in a row, of all workers together, a provider is not asked for a while. */
const failuresUntilOpen = 5;
/** The first pause, in milliseconds. It doubles each time the provider is asked again and fails. Half of each pause is random. */
const firstPauseMs = 5_000;
/** No other worker tries while a try is under way, at most for this time in milliseconds. */
const longestTryMs = 15_000;
/** The clocks of a worker and of Redis may differ by this much. */
const usualDriftMs = 5_000;
/** The state is forgotten when nobody has asked the provider for so long. */
const keptMs = 86_400_000;

/**
 * The parts of the scripts. The hash has `failures` (in a row), and while the breaker is open `pauseMs` and `askAt`, by Redis' clock. Each script
 * returns the failures, the milliseconds until the next try (-1 if the breaker is closed), and whether this worker may try now.
 */
const readState = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local failures = tonumber(redis.call('HGET', KEYS[1], 'failures') or 0)
  local askAt = tonumber(redis.call('HGET', KEYS[1], 'askAt') or -1)
`;
const openFor = `
  askAt = now + math.floor(math.max(pauseMs / 2 + ARGV[1] * pauseMs / 2, ARGV[2]))
  redis.call('HSET', KEYS[1], 'pauseMs', pauseMs, 'askAt', askAt)
`;
const answer = (mayAsk: string) => `
  return { failures, askAt < 0 and -1 or math.max(0, askAt - now), ${mayAsk} }
`;
/**
 * ARGV: a random number from 0 to 1, the pause that the provider asks for, the failures until it opens, the first pause, and the time by the worker's
 * clock if the provider's answer was refused because of its time (else 0). If that clock is not Redis' clock, the fault may be the worker's.
 */
const noteFailure = `${readState}
  local isOurFault = tonumber(ARGV[5]) > 0 and math.abs(ARGV[5] - now) > ${usualDriftMs}
  if not isOurFault then
    failures = redis.call('HINCRBY', KEYS[1], 'failures', 1)
    if askAt > 0 or failures >= tonumber(ARGV[3]) or tonumber(ARGV[2]) > 0 then
      local pauseMs = tonumber(redis.call('HGET', KEYS[1], 'pauseMs') or ARGV[4])
      ${openFor}
    end
    redis.call('PEXPIRE', KEYS[1], ${keptMs})
  end
  ${answer('0')}
`;
/**
 * Takes the next try for this worker. The next pause begins now, and again when the try fails. ARGV: a random number, the longest time of a try, the
 * longest pause.
 */
const claimTry = `${readState}
  if askAt < 0 then return { failures, -1, 1 } end
  if askAt > now then return { failures, askAt - now, 0 } end
  local pauseMs = math.min(2 * redis.call('HGET', KEYS[1], 'pauseMs'), tonumber(ARGV[3]))
  ${openFor}
  redis.call('PEXPIRE', KEYS[1], ${keptMs})
  ${answer('1')}
`;
const readOnly = `${readState}
  ${answer('0')}
`;

/**
 * The circuit breaker of a provider, for all workers together. It is *closed* at first. After several failures in a row it is *open*: nobody asks the
 * provider. After a pause, one worker tries: a success closes the breaker, otherwise the pause doubles.
 */
interface Breaker {
  /** Resolves to true if this worker may ask now: the breaker is closed, or this worker may make the next try. */
  mayAsk(): Promise<boolean>;
  /** Does not wait for Redis. */
  succeeded(): void;
  /**
   * Does not wait for Redis.
   *
   * @param pauseMs the pause that the provider asked for (`Retry-After`): the breaker then opens at once
   * @param clockMs the time by our clock, if the answer was refused because of its time
   */
  failed(fault: { readonly pauseMs?: number | undefined; readonly clockMs?: number | undefined }): void;
  isOpen(): boolean;
  hasFailures(): boolean;
  /** The milliseconds until the next try; 0 while the breaker is closed. */
  pauseLeftMs(): number;
  /** Reads what other workers have noted. */
  refresh(): Promise<void>;
}

/** `longestPauseMs`: the limit of the pauses, also of one that the provider asks for. If Redis refuses a command, the last known state holds. */
function openBreaker({ redis, name, longestPauseMs, log }: { redis: Redis; name: string; longestPauseMs: number; log: Logger }): Breaker {
  const key = `${prefixOf(redis)}:provider:${name}`;
  let failures = 0;
  /** By `performance.now()`; undefined while the breaker is closed. */
  let tryAt: number | undefined;

  async function run(script: string, ...given: number[]): Promise<boolean> {
    try {
      const [noted, pauseMs, isOurs] = (await redis.eval(script, 1, key, ...given)) as [number, number, number];
      failures = noted;
      tryAt = pauseMs < 0 ? undefined : performance.now() + pauseMs;
      return isOurs === 1;
    } catch (error) {
      log.debug({ err: error, provider: name }, 'the state of a provider cannot be read or written');
      return false;
    }
  }

  const pauseLeftMs = () => Math.max(0, (tryAt ?? 0) - performance.now());
  return {
    mayAsk: async () => tryAt === undefined || (pauseLeftMs() === 0 && (await run(claimTry, Math.random(), longestTryMs, longestPauseMs))),
    succeeded: () => {
      if (failures === 0 && tryAt === undefined) return;
      [failures, tryAt] = [0, undefined];
      redis.del(key).catch((error: unknown) => log.debug({ err: error, provider: name }, 'a breaker could not be closed'));
    },
    failed: ({ pauseMs = 0, clockMs = 0 }) => {
      failures += 1;
      if (failures >= failuresUntilOpen) tryAt ??= performance.now() + firstPauseMs;
      void run(noteFailure, Math.random(), Math.min(pauseMs, longestPauseMs), failuresUntilOpen, firstPauseMs, clockMs);
    },
    isOpen: () => tryAt !== undefined,
    hasFailures: () => failures > 0,
    pauseLeftMs,
    refresh: async () => void (await run(readOnly)),
  };
}

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
function openRequestRate(options: { redis: Redis; name: string; settings: RateSettings; longestMs: number; log: Logger }): RequestRate {
  const { redis, name, settings, longestMs, log } = options;
  const key = `${prefixOf(redis)}:requests:${name}`;
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
