import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { figuresOf, startProbes } from './probe.ts';
import { startAttacker, withServiceUnderAttack } from './service-under-attack.ts';

const seconds = Number(process.env.ATTACK_SECONDS ?? 15);

const storms = [
  { redis: 'up', connections: 1_500 },
  { redis: 'frozen', connections: 256 },
  { redis: 'frozen', connections: 1_500 },
  { redis: 'killed', connections: 256 },
  { redis: 'killed', connections: 1_500 },
] as const;

/** Requests `/health/live` on a new connection. Returns whether it answered within 30 s. */
function askOnNewConnection(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(Number(port), hostname, () => {
    socket.write('GET /health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  });
  socket.setTimeout(30_000, () => socket.destroy());
  let answer = '';
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => (answer += text));
  socket.on('error', () => undefined);
  socket.on('close', () => resolve(answer.startsWith('HTTP/1.1 200')));
  return promise;
}

/**
 * Attacks an API with clients that request stamps without a pause while Redis is down. Prints how long `/health/live` takes to answer on a new
 * connection.
 */
export async function attackWithoutRedis(): Promise<void> {
  const rows: Record<string, string | number>[] = [];
  for (const { redis, connections } of storms) {
    await withServiceUnderAttack(async ({ url, servers }) => {
      const attacker = await startAttacker('bench/attacks/flood.ts', url, String(connections));
      await delay(3_000);
      if (redis === 'frozen') await servers.redis?.pause();
      else if (redis === 'killed') await servers.redis?.kill();
      const probes = startProbes(20, () => askOnNewConnection(url));
      await delay(seconds * 1_000);
      await probes.stop();
      const answers = await attacker.stop();
      const { median, longest } = figuresOf(probes.passedMs);
      rows.push({
        Redis: redis,
        connections,
        'answers a second': Math.round(answers / (3 + seconds)),
        probes: probes.passedMs.length,
        'median ms': median,
        'longest ms': longest,
        failed: probes.failedMs.length,
      });
    });
  }
  console.table(rows);
}
