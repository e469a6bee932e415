import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { keyPrefix } from './connection.ts';

const key = `${keyPrefix}:workers`;

/** How often a worker says that it lives, and after how long a silent one counts as gone. */
const heartbeatMs = 2_000;
const lostAfterMs = 8_000;

const heartbeatSchema = z.object({
  at: z.number(),
  provider: z.object({ name: z.string(), isQualified: z.boolean(), status: z.enum(['operational', 'degraded', 'outage']) }),
});

/** What a worker says about itself and about the provider that it calls. */
export type Heartbeat = z.infer<typeof heartbeatSchema>;

/** The heartbeats of the workers that live at `now` (ms); those of lost ones are removed. */
export async function readHeartbeats(redis: Redis, now: number): Promise<Heartbeat[]> {
  const alive: Heartbeat[] = [];
  const lost: string[] = [];
  for (const [workerId, text] of Object.entries(await redis.hgetall(key))) {
    const parsed = heartbeatSchema.safeParse(JSON.parse(text));
    if (parsed.success && now - parsed.data.at <= lostAfterMs) alive.push(parsed.data);
    else lost.push(workerId);
  }
  if (lost.length > 0) await redis.hdel(key, ...lost);
  return alive;
}

/** Beats until it is stopped; a beat that fails is left out, since silence is its meaning. */
export function startHeartbeat(options: {
  redis: Redis;
  workerId: string;
  clock: Clock;
  log: Logger;
  describe: () => Heartbeat['provider'];
}): { stop(): Promise<void> } {
  const { redis, workerId, clock, log, describe } = options;
  const send = () => {
    const heartbeat: Heartbeat = { at: clock(), provider: describe() };
    redis.hset(key, workerId, JSON.stringify(heartbeat)).catch((error) => log.debug({ err: error }, 'no heartbeat'));
  };
  send();
  const timer = setInterval(send, heartbeatMs);
  return {
    stop: async () => {
      clearInterval(timer);
      if (redis.status === 'ready') await redis.hdel(key, workerId);
    },
  };
}
