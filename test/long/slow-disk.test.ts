import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { connectWorker } from '../../src/shared/redis/connection.ts';
import { collectionOf, openDatabase } from '../support/database.ts';
import { openApiEnd } from '../support/queue-lab.ts';
import { eventually } from '../support/requests.ts';
import { startService } from '../support/service.ts';
import { startRedisOnSlowableDisk } from '../support/slow-disk.ts';
import { stampItem } from '../support/stamp-items.ts';

test('E11: stamps that Redis acknowledged on a disk that syncs in 1.5 s are made after a kill -9', async () => {
  const server = await startRedisOnSlowableDisk();
  onTestFinished(server.dispose);
  const service = await startService({ workers: 0, settings: { REDIS_URL: server.url } });
  let isKilled = false;
  const { submission } = await openApiEnd(server.url, 100_000, connectWorker);
  const whileAlive = { callerId: 'product:test', deadline: { begunAt: 0, leftMs: () => (isKilled ? 0 : 60_000) }, patienceMs: 0 };

  server.slowDown(1_500);
  const promised: string[] = [];
  const client = async () => {
    while (!isKilled) {
      const item = stampItem();
      try {
        const [outcome] = await submission.submit([item], whileAlive);
        if ((await outcome!).state === 'accepted' && !isKilled) promised.push(item.tokenId);
      } catch {
        await delay(50);
      }
    }
  };
  const clients = Array.from({ length: 64 }, client);
  const startedAt = Date.now();
  await eventually(async () => promised.length >= 100 && Date.now() > startedAt + 6_000, 60_000);
  isKilled = true;
  await server.kill();
  server.slowDown(0);
  await server.start();
  await Promise.all(clients);

  await service.startWorker();
  const stamps = collectionOf(await openDatabase(service), 'stamps');
  const stored = async () => new Set((await stamps.find({}).toArray()).map(({ _id }) => _id));
  await eventually(async () => (await stored()).isSupersetOf(new Set(promised))).catch(() => undefined);
  expect(new Set(promised).difference(await stored()).size).toBe(0);
});
