import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { DocumentDbServer } from '../../scripts/stack/documentdb.ts';
import type { StackServer } from '../../scripts/stack/server-process.ts';
import { startMongo, startRedis } from '../../scripts/stack/servers.ts';
import { expectState } from '../support/component-state.ts';
import { runFault } from '../support/fault-run.ts';
import { startPrivate } from '../support/servers.ts';
import { startService } from '../support/service.ts';
import { keepRunning, mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';

const unlimited = { RATE_WORKFLOW_START_PER_HOUR: '0', RATE_WORKFLOW_STAMP_PER_MINUTE: '0', LOG_LEVEL: 'error' };

/** The disk is full for 8 s and then has space again; the service must notice within 5 s. */
async function whileFull(disk: SmallDisk, isKnown: () => Promise<void>): Promise<void> {
  disk.fill();
  await isKnown();
  await delay(8_000);
  disk.free();
}

test('E10, E11: the disk of Redis is full: not ready, an outage, 503; no stamp is lost; recovery by itself', async () => {
  let disk: SmallDisk | undefined;
  const redis = await startPrivate((context) => {
    disk = mountSmallDisk(join(context.dataDir, 'redis'), 32);
    return startRedis(context);
  });
  onTestFinished(async () => {
    await redis.kill();
    disk?.unmount();
    await redis.dispose();
  });
  keepRunning(redis);
  const service = await startService({ settings: { REDIS_URL: redis.url, ...unlimited } });
  await expectState(service, { redis: 'ok', mongodb: 'ok' }, '');
  const figures = await runFault({
    name: 'disk of Redis full',
    service,
    clients: 16,
    fault: () => whileFull(disk!, () => expectState(service, { redis: 'failing', mongodb: 'ok' }, 'The queue')),
  });
  expect(figures).toMatchObject({ other: 0, unheard: 0, lost: 0, doubled: 0, false503: 0 });
  expect(figures[503]).toBeGreaterThan(0);
  await expectState(service, { redis: 'ok', mongodb: 'ok' }, '');
});

test('E10, E11: the disk of the store is full: not ready, an outage, 503; no stamp is lost; recovery by itself', async () => {
  let disk: SmallDisk | undefined;
  const mongo = await startPrivate<StackServer | DocumentDbServer>((context) => {
    disk = mountSmallDisk(join(context.dataDir, 'documentdb'), 192);
    return startMongo(context);
  });
  onTestFinished(async () => {
    await mongo.kill();
    disk?.unmount();
    await mongo.dispose();
  });
  keepRunning('postgres' in mongo ? mongo.postgres : mongo);
  const service = await startService({ settings: { MONGODB_URL: mongo.url, ...unlimited } });
  await expectState(service, { redis: 'ok', mongodb: 'ok' }, '');
  const figures = await runFault({
    name: 'disk of the store full',
    service,
    clients: 16,
    fault: () => whileFull(disk!, () => expectState(service, { redis: 'ok', mongodb: 'failing' }, 'The store')),
  });
  expect(figures).toMatchObject({ other: 0, unheard: 0, lost: 0, doubled: 0, false503: 0 });
  expect(figures[503]).toBeGreaterThan(0);
  await expectState(service, { redis: 'ok', mongodb: 'ok' }, '');
});
