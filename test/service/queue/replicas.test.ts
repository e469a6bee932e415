import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { randomHash, stampInternal } from '../../support/requests.ts';
import { startPrivateRedis } from '../../support/servers.ts';
import { startService } from '../../support/service.ts';

const survives = async (service: { fetch(path: string): Promise<Response> }) =>
  ((await (await service.fetch('/api/v1/status')).json()) as { queue: { survives: string } }).queue.survives;

test('E11: with REDIS_REPLICAS_ACK=1 a stamp is promised only while a replica confirms its job', async ({ skip }) => {
  const [primary, replica] = await Promise.all([startPrivateRedis(), startPrivateRedis()]);
  onTestFinished(async () => void (await Promise.all([primary.dispose(), replica.dispose()])));
  if (primary.remove) skip('servers in containers do not find each other under 127.0.0.1');
  const admin = new Redis(replica.url);
  await admin.replicaof('127.0.0.1', primary.port);
  await eventually(async () => /,connected,/.test(String(await admin.role())) || undefined);
  admin.disconnect();
  const service = await startService({ settings: { REDIS_URL: primary.url, REDIS_REPLICAS_ACK: '1' } });
  const promise = () => stampInternal(service, { hash: randomHash() }, { prefer: 'respond-async' });
  expect((await promise()).status).toBe(202);
  await eventually(async () => (await survives(service)) === 'failover');

  await replica.stop();
  const unsure = await promise();
  expect([unsure.status, unsure.body.detail]).toEqual([504, expect.stringMatching(/^The queue did not confirm/)]);
  // Stamps are still made, and whoever waits for one has it. Jobs do not wait behind the questions of each other.
  const waiting = Array.from({ length: 10 }, async (_, index) => {
    await delay(100 * index);
    return (await stampInternal(service, { hash: randomHash() })).status;
  });
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => 201));
  await eventually(async () => (await survives(service)) === 'crash');
  // A balancer still sends requests here.
  expect((await service.fetch('/health/ready')).status).toBe(200);

  await replica.start();
  const again = new Redis(replica.url);
  onTestFinished(() => again.disconnect());
  await again.replicaof('127.0.0.1', primary.port);
  await eventually(async () => (await promise()).status === 202, 30_000);
  expect(await survives(service)).toBe('failover');
});
