import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type ProviderHealth, providerHealth } from '../../workers/providers/health.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { keyPrefix } from './connection.ts';

const workersKey = `${keyPrefix}:workers`;
/** Outlives the workers: when each provider last made a stamp. */
const lastSuccessKey = `${keyPrefix}:last-success`;

/** How often a worker says that it lives, and after how long a silent one counts as gone. */
const heartbeatMs = 2_000;
const lostAfterMs = 6_000;

const heartbeatSchema = z.object({ at: z.number(), providers: z.array(providerHealth) });

/** What a worker says about itself and about the providers that it calls, most preferred first. */
export type Heartbeat = z.infer<typeof heartbeatSchema>;

const laterOf = (a: string | null, b: string | null | undefined): string | null => (a === null || (b && b > a) ? (b ?? null) : a);

/** The heartbeats of the workers that live at `now` (ms); those of lost ones are removed. */
export async function readHeartbeats(redis: Redis, now: number): Promise<Heartbeat[]> {
  const alive: Heartbeat[] = [];
  const lost: string[] = [];
  const [beats, lastSuccess] = await Promise.all([redis.hgetall(workersKey), redis.hgetall(lastSuccessKey)]);
  for (const [workerId, text] of Object.entries(beats)) {
    const parsed = heartbeatSchema.safeParse(JSON.parse(text));
    if (parsed.success && now - parsed.data.at <= lostAfterMs) alive.push(parsed.data);
    else lost.push(workerId);
  }
  if (lost.length > 0) await redis.hdel(workersKey, ...lost);
  return alive.map(({ at, providers }) => ({
    at,
    providers: providers.map((health) => ({ ...health, lastSuccessAt: laterOf(health.lastSuccessAt, lastSuccess[health.name]) })),
  }));
}

/** Beats until it is stopped; a beat that fails is left out, since silence is its meaning. The farewell is not waited for: Redis may be gone. */
export function startHeartbeat(options: {
  redis: Redis;
  workerId: string;
  clock: Clock;
  log: Logger;
  describe: () => readonly ProviderHealth[];
}): { stop(): void } {
  const { redis, workerId, clock, log, describe } = options;
  const send = () => {
    const heartbeat: Heartbeat = { at: clock(), providers: [...describe()] };
    const beat = redis.pipeline().hset(workersKey, workerId, JSON.stringify(heartbeat));
    for (const { name, lastSuccessAt } of heartbeat.providers) if (lastSuccessAt !== null) beat.hset(lastSuccessKey, name, lastSuccessAt);
    beat.exec().catch((error) => log.debug({ err: error }, 'no heartbeat'));
  };
  send();
  const timer = setInterval(send, heartbeatMs);
  return {
    stop: () => {
      clearInterval(timer);
      if (redis.status === 'ready') redis.hdel(workersKey, workerId).catch((error) => log.debug({ err: error }, 'no farewell'));
    },
  };
}
