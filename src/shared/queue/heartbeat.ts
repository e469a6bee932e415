import type { Redis } from 'ioredis';
import { z } from 'zod';
import { clockStates, type MailState, mailStates, serviceStates } from '../domain/service-state.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { keyPrefix } from './connection.ts';

const workersKey = `${keyPrefix}:workers`;
/** When each provider last made a stamp. A key of its own, because it must stay when workers end. */
const lastSuccessKey = `${keyPrefix}:last-success`;

/** How often a worker says that it lives, and after how long a silent one counts as gone. */
const heartbeatMs = 2_000;
const lostAfterMs = 6_000;

/** What one worker knows of one provider; latencies in milliseconds, null before the first stamp. */
const providerHealth = z.object({
  name: z.string(),
  isQualified: z.boolean(),
  /** `degraded` after a failed call, `outage` after several in a row or while its breaker is open. */
  status: z.enum(serviceStates),
  /** RFC 3339 in UTC. */
  lastSuccessAt: z.string().nullable(),
  p50: z.number().nullable(),
  p95: z.number().nullable(),
  /** PEM of the certificates of its last good answer, from the signer to the trust anchor. */
  certificateChain: z.string().optional(),
  /** Of a key of one's own; `driftMs`: how far its clock is ahead of what others say. */
  clock: z.object({ state: z.enum(clockStates), driftMs: z.number().nullable() }).optional(),
});
export type ProviderHealth = z.output<typeof providerHealth>;

const heartbeatSchema = z.object({
  at: z.number(),
  providers: z.array(providerHealth),
  // Workers of an earlier version do not send it.
  mail: z.enum(mailStates).default('unknown'),
  isStoreFull: z.boolean().default(false),
});

/** What a worker says about itself: the providers that it calls, most preferred first, whether its mails leave, and whether its stamps find space. */
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

/** The heartbeats of the workers that live at `now` (ms). */
export async function readHeartbeats(redis: Redis, now: number): Promise<Heartbeat[]> {
  const [beats, lastSuccess] = await Promise.all([redis.hgetall(workersKey), redis.hgetall(lastSuccessKey)]);
  return sortBeats(beats, now).alive.map(({ providers, ...beat }) => ({
    ...beat,
    providers: providers.map((health) => ({ ...health, lastSuccessAt: laterOf(health.lastSuccessAt, lastSuccess[health.name]) })),
  }));
}

/** A worker that was killed could not remove its heartbeat; the next worker that starts removes it. */
async function forgetLostWorkers(redis: Redis, now: number): Promise<void> {
  const { lostWorkerIds } = sortBeats(await redis.hgetall(workersKey), now);
  if (lostWorkerIds.length > 0) await redis.hdel(workersKey, ...lostWorkerIds);
}

/**
 * Writes a heartbeat every two seconds until it is stopped, and one more at each `beat`. One that fails is not repeated: no heartbeat is the right message then. On
 * stop the heartbeat is removed, but nobody waits for that, since Redis may be away.
 */
export function startHeartbeat(options: {
  redis: Redis;
  workerId: string;
  clock: Clock;
  log: Logger;
  describeProviders: () => readonly ProviderHealth[];
  describeMail: () => MailState;
  isStoreFull: () => boolean;
}): { beat(): void; stop(): void } {
  const { redis, workerId, clock, log, describeProviders, describeMail, isStoreFull } = options;
  const send = () => {
    const heartbeat: Heartbeat = { at: clock(), providers: [...describeProviders()], mail: describeMail(), isStoreFull: isStoreFull() };
    const beat = redis.pipeline().hset(workersKey, workerId, JSON.stringify(heartbeat));
    for (const { name, lastSuccessAt } of heartbeat.providers) if (lastSuccessAt !== null) beat.hset(lastSuccessKey, name, lastSuccessAt);
    beat.exec().catch((error) => log.debug({ err: error }, 'a heartbeat could not be written'));
  };
  send();
  forgetLostWorkers(redis, clock()).catch((error) => log.debug({ err: error }, 'workers that are gone could not be removed from the list'));
  const timer = setInterval(send, heartbeatMs);
  return {
    beat: send,
    stop: () => {
      clearInterval(timer);
      if (redis.status === 'ready') redis.hdel(workersKey, workerId).catch((error) => log.debug({ err: error }, 'no farewell'));
    },
  };
}
