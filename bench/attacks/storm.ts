import { setTimeout as delay } from 'node:timers/promises';
import { figuresOf, startProbes } from './probe.ts';
import { startAttacker, withServiceUnderAttack } from './service-under-attack.ts';

const seconds = Number(process.env.ATTACK_SECONDS ?? 15);

const storms = [
  { redis: 'frozen', connections: 256 },
  { redis: 'frozen', connections: 1_500 },
  { redis: 'killed', connections: 256 },
  { redis: 'killed', connections: 1_500 },
] as const;

/** Clients that stamp without a pause while Redis is away; prints how soon `/health/live` answers on a new connection. */
export async function attackWithoutRedis(): Promise<void> {
  const rows: Record<string, string | number>[] = [];
  for (const { redis, connections } of storms) {
    await withServiceUnderAttack(async ({ url, servers }) => {
      const attacker = await startAttacker('bench/attacks/flood.ts', url, String(connections));
      await delay(3_000);
      if (redis === 'frozen') servers.redis?.pause();
      else await servers.redis?.kill();
      const probes = startProbes(20, async () => {
        const answer = await fetch(`${url}/health/live`, { headers: { connection: 'close' }, signal: AbortSignal.timeout(30_000) });
        await answer.text();
        return answer.status === 200;
      });
      await delay(seconds * 1_000);
      await probes.stop();
      await attacker.stop();
      const { median, longest } = figuresOf(probes.passedMs);
      rows.push({
        Redis: redis,
        connections,
        probes: probes.passedMs.length,
        'median ms': median,
        'longest ms': longest,
        failed: probes.failedMs.length,
      });
    });
  }
  console.table(rows);
}
