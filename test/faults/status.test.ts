import { expect, onTestFinished, test } from 'vitest';
import { eventually, getJson, randomHash, stampInternal } from '../support/requests.ts';
import { startPrivateMongo, startPrivateRedis } from '../support/servers.ts';
import { type Service, startService } from '../support/service.ts';

/** Each change must show within ten seconds (issue 7 §2). */
const withinMs = 10_000;

const showsState = (service: Service, state: string) =>
  eventually(async () => {
    const { status, body } = await getJson(service, '/api/v1/status');
    expect(status).toBe(200);
    return body.status === state && body;
  }, withinMs);

const pageSays = async (service: Service, sentence: string) => expect(await (await service.fetch('/status')).text()).toContain(sentence);

test('the only worker stopped, or killed: outage within 10 s, operational again once one runs (Public JSON)', async () => {
  const service = await startService({ settings: { STAMP_WAIT_MS: '500' } });
  await showsState(service, 'operational');
  await service.workers[0]?.stop();
  const out = await showsState(service, 'outage');
  expect(out.provider).toMatchObject({ name: 'mock', status: 'outage' });
  await pageSays(service, 'No worker is heard.');
  expect((await stampInternal(service, { hash: randomHash() })).status).toBe(504);
  const waiting = await eventually(async () => {
    const { body } = await getJson(service, '/api/v1/status');
    const { depth, oldest_job_age_seconds: age } = body.queue as { depth: number; oldest_job_age_seconds: number | null };
    return depth === 1 && age !== null && age > 1 && body;
  }, withinMs);
  expect(waiting.status).toBe('outage');
  const worker = await service.startWorker();
  await showsState(service, 'operational');
  await worker.kill();
  await showsState(service, 'outage');
  await service.startWorker();
  const back = await showsState(service, 'operational');
  expect(back.queue).toEqual({ depth: 0, oldest_job_age_seconds: null });
});

test('MongoDB stopped: outage within 10 s with the last figures known, operational again once it is back (Public JSON)', async () => {
  const mongo = await startPrivateMongo();
  onTestFinished(mongo.dispose);
  const service = await startService({ settings: { MONGODB_URL: mongo.url, STAMP_WAIT_MS: '1000' } });
  expect((await stampInternal(service, { hash: randomHash() })).status).toBe(201);
  await eventually(async () => {
    const { body } = await getJson(service, '/api/v1/status');
    return (body.counters as { lifetime: { stamps: number } }).lifetime.stamps === 1;
  });
  await mongo.stop();
  const out = await showsState(service, 'outage');
  expect(out.counters).toMatchObject({ lifetime: { stamps: 1 } });
  await pageSays(service, 'The store does not answer.');
  await mongo.start();
  await showsState(service, 'operational');
});

test('Redis stopped: outage within 10 s and no figure of the queue, operational again once it is back (Public JSON)', async () => {
  const redis = await startPrivateRedis();
  onTestFinished(redis.dispose);
  const service = await startService({ settings: { REDIS_URL: redis.url } });
  await showsState(service, 'operational');
  await redis.stop();
  const out = await showsState(service, 'outage');
  expect(out.queue).toEqual({ depth: null, oldest_job_age_seconds: null });
  await pageSays(service, 'The queue does not answer.');
  await redis.start();
  await showsState(service, 'operational');
});
