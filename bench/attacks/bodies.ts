import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { figuresOf, startProbes } from './probe.ts';
import { serviceToken, startAttacker, withServiceUnderAttack } from './service-under-attack.ts';

const mebibyte = 1024 * 1024;
const seconds = Number(process.env.ATTACK_SECONDS ?? 30);

const attacks = [
  {
    name: '1500 send 1 MiB less a byte',
    path: '/api/v1/agent/v1/stamp/sealed',
    connections: 1_500,
    announced: mebibyte - 1,
    atOnce: mebibyte - 101,
  },
  {
    name: '10 announce 13.9 MB, send 1 MB',
    path: '/api/v1/agent/v1/stamp/sealed',
    connections: 10,
    announced: 13_900_000,
    atOnce: 1_000_000,
  },
];

/** Uploads sealed content of about 2 MiB with a service token; returns whether it was stamped. */
function upload(url: string, content: string): Promise<boolean> {
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-token': serviceToken },
    body: JSON.stringify({ tier: 'sealed', content_b64: content }),
    signal: AbortSignal.timeout(20_000),
  };
  return fetch(`${url}/api/v1/internal/v1/stamp`, request).then(async (answer) => {
    await answer.text();
    return answer.status === 201;
  });
}

/** Attacks an API with senders that are slow, and prints the effect on its memory and on the uploads of others. */
export async function attackBodies(): Promise<void> {
  const rows: Record<string, string | number>[] = [];
  for (const { name, path, connections, announced, atOnce } of attacks) {
    await withServiceUnderAttack(async ({ url, memoryMb }) => {
      const content = randomBytes(2 * mebibyte).toString('base64');
      for (let warmUp = 0; warmUp < 10; warmUp += 1) await upload(url, content);
      await delay(2_000);
      const before = memoryMb();
      let most = before;
      const watch = setInterval(() => (most = Math.max(most, memoryMb())), 100);
      const attacker = await startAttacker('bench/attacks/drip.ts', url + path, String(connections), String(announced), String(atOnce));
      const uploads = startProbes(500, () => upload(url, content));
      await delay(seconds * 1_000);
      const during = [...uploads.passedMs];
      await attacker.stop();
      await uploads.stop();
      await delay(15_000);
      clearInterval(watch);
      rows.push({
        attack: name,
        'memory before, MB': Math.round(before),
        'grew by at most': Math.round(most - before),
        '15 s afterwards': Math.round(memoryMb() - before),
        'uploads with a token': during.length,
        'median ms': figuresOf(during).median,
        'longest ms': figuresOf(during).longest,
        refused: uploads.failedMs.length,
      });
    });
  }
  console.table(rows);
}
