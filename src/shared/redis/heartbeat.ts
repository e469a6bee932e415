import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { qualificationBases, qualificationReasons } from '../domain/qualification.ts';
import { clockStates, type MailState, mailStates, serviceStates } from '../domain/service-state.ts';
import type { Logger } from '../runtime/log.ts';
import type { Clock } from '../runtime/timers.ts';
import { every } from '../runtime/timers.ts';
import { prefixOf } from './connection.ts';

const workersKeyOf = (redis: Redis): string => `${prefixOf(redis)}:workers`;
/** The key with the time of each provider's last stamp. These times have their own key, because they must stay after the workers end. */
const lastSuccessKeyOf = (redis: Redis): string => `${prefixOf(redis)}:last-success`;

/** The interval of a worker's heartbeats. */
const heartbeatMs = 2_000;
/** After this time without a heartbeat, a worker counts as lost. */
const lostAfterMs = 6_000;

/** A worker's view of one provider. `p50` and `p95` are latencies in milliseconds, null before the first stamp. */
const providerHealth = z.object({
  name: z.string(),
  isQualified: z.boolean(),
  /** Whether a stamp that must be qualified may be queued for it: its last token is qualified, or old, or awaits a trusted list (W19). */
  mayBeQualified: z.boolean(),
  /** Who says that its next stamp will be qualified or not, and why not. Absent before its first token. */
  qualification: z.object({ basis: z.enum(qualificationBases).nullable(), reason: z.enum(qualificationReasons).nullable() }).optional(),
  /** `degraded` after a failed call; `outage` after several failed calls in a row, or while the circuit breaker is open. */
  status: z.enum(serviceStates),
  /** RFC 3339 in UTC. */
  lastSuccessAt: z.string().nullable(),
  p50: z.number().nullable(),
  p95: z.number().nullable(),
  /** The certificates of the provider's last good answer, from the signer to the trust anchor, in PEM. */
  certificateChain: z.string().optional(),
  /** Only for a provider with a `rate`: what it allows, and how many requests are left. */
  rate: z.object({ requests: z.number(), perSeconds: z.number(), left: z.number() }).optional(),
  /** RFC 3339 in UTC. When the provider may be asked next; absent: now. */
  nextRequestAt: z.string().optional(),
  /** Only for an own signing key. `driftMs`: how far its clock is ahead of the reference clocks. */
  clock: z.object({ state: z.enum(clockStates), driftMs: z.number().nullable() }).optional(),
});
export type ProviderHealth = z.output<typeof providerHealth>;

const heartbeatSchema = z.object({
  at: z.number(),
  providers: z.array(providerHealth),
  mail: z.enum(mailStates),
  isStoreFull: z.boolean(),
});

/** The state of a worker: its providers, most preferred first, whether mail works, and whether there is space for stamps. */
export type Heartbeat = z.output<typeof heartbeatSchema>;

const laterOf = (a: string | null, b: string | null | undefined): string | null => (a === null || (b && b > a) ? (b ?? null) : a);

interface Beats {
  readonly alive: readonly Heartbeat[];
  readonly lostWorkerIds: readonly string[];
}

function sortBeats(beats: Readonly<Record<string, string>>, now: number): Beats {
  const alive: Heartbeat[] = [];
  const lostWorkerIds: string[] = [];
  for (const [workerId, text] of Object.entries(beats)) {
    const parsed = heartbeatSchema.safeParse(JSON.parse(text));
    if (parsed.success && now - parsed.data.at <= lostAfterMs) alive.push(parsed.data);
    else lostWorkerIds.push(workerId);
  }
  return { alive, lostWorkerIds };
}

/** Reads the heartbeats of all workers that were alive at `now` (milliseconds since the epoch). */
export async function readHeartbeats(redis: Redis, now: number): Promise<Heartbeat[]> {
  const [beats, lastSuccess] = await Promise.all([redis.hgetall(workersKeyOf(redis)), redis.hgetall(lastSuccessKeyOf(redis))]);
  return sortBeats(beats, now).alive.map(({ providers, ...beat }) => ({
    ...beat,
    providers: providers.map((health) => ({ ...health, lastSuccessAt: laterOf(health.lastSuccessAt, lastSuccess[health.name]) })),
  }));
}

/** Removes the heartbeats of workers that count as lost. */
async function forgetLostWorkers(redis: Redis, now: number): Promise<void> {
  const { lostWorkerIds } = sortBeats(await redis.hgetall(workersKeyOf(redis)), now);
  if (lostWorkerIds.length > 0) await redis.hdel(workersKeyOf(redis), ...lostWorkerIds);
}

/**
 * Writes a heartbeat every two seconds until `stop` is called, and one more at each call of `beat`. A heartbeat that fails is not repeated: if Redis
 * is not reachable for the worker, it should count as lost. `stop` removes the heartbeat without waiting, because Redis may be down.
 */
export function startHeartbeat(options: {
  redis: Redis;
  clock: Clock;
  log: Logger;
  readHealth: () => readonly ProviderHealth[];
  readMailState: () => MailState;
  isStoreFull: () => boolean;
}): { beat(): void; stop(): void } {
  const { redis, clock, log, readHealth, readMailState, isStoreFull } = options;
  const workerId = randomUUID();
  const send = () => {
    const heartbeat: Heartbeat = { at: clock(), providers: [...readHealth()], mail: readMailState(), isStoreFull: isStoreFull() };
    const beat = redis.pipeline().hset(workersKeyOf(redis), workerId, JSON.stringify(heartbeat));
    for (const { name, lastSuccessAt } of heartbeat.providers)
      if (lastSuccessAt !== null) beat.hset(lastSuccessKeyOf(redis), name, lastSuccessAt);
    beat.exec().catch((error) => log.debug({ err: error }, 'a heartbeat could not be written; the next follows in two seconds'));
  };
  const stopping = new AbortController();
  void every(heartbeatMs, send, stopping.signal);
  forgetLostWorkers(redis, clock()).catch((error) =>
    log.debug({ err: error }, 'the heartbeats of lost workers could not be removed; the next worker that starts removes them'),
  );
  return {
    beat: send,
    stop: () => {
      stopping.abort();
      if (redis.status === 'ready')
        redis
          .hdel(workersKeyOf(redis), workerId)
          .catch((error) => log.debug({ err: error }, 'the last heartbeat could not be removed; it becomes invalid in a few seconds'));
    },
  };
}
