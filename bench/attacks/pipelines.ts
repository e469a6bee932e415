import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { serviceToken, withServiceUnderAttack } from './service-under-attack.ts';

const attacks = [
  { name: '8 × 40 000 GET /health/', path: '/health/' },
  { name: '8 × 40 000 GET /api/v1/status', path: '/api/v1/status' },
] as const;
const sockets = 8;
const requests = 40_000;
const heldMs = 1_000;

async function stamp(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/api/v1/internal/v1/stamp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-token': serviceToken },
    body: JSON.stringify({ hash: 'a'.repeat(64) }),
    signal: AbortSignal.timeout(60_000),
  });
  await answer.text();
  return answer.status === 201;
}

/**
 * Attacks an API with clients that send many requests in one piece, read nothing, and disconnect. Prints the memory use of the API, and how long the
 * answer to a stamp request takes afterwards.
 */
export async function attackByPipelines(): Promise<void> {
  const rows: Record<string, string | number | boolean>[] = [];
  for (const { name, path } of attacks) {
    await withServiceUnderAttack(async ({ url, memoryMb }) => {
      const { hostname, port } = new URL(url);
      for (let warmUp = 0; warmUp < 100; warmUp += 1) await stamp(url);
      await delay(2_000);
      const before = memoryMb();
      let most = before;
      const watch = setInterval(() => (most = Math.max(most, memoryMb())), 50);
      const piece = `GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`.repeat(requests);
      const attackers = Array.from({ length: sockets }, () => {
        const socket = connect(Number(port), hostname, () => socket.write(piece, 'latin1'));
        socket.on('error', () => undefined);
        return socket;
      });
      await delay(heldMs);
      for (const socket of attackers) socket.destroy();
      const startedAt = performance.now();
      const isStamped = await stamp(url).catch(() => false);
      const answeredMs = Math.round(performance.now() - startedAt);
      await delay(5_000);
      clearInterval(watch);
      rows.push({ attack: name, 'grew by at most, MB': Math.round(most - before), 'stamp afterwards, ms': answeredMs, stamped: isStamped });
    });
  }
  console.table(rows);
}
