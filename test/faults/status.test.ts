import { expect, onTestFinished, test } from 'vitest';
import { eventually, getJson, randomHash, stampInternal } from '../support/requests.ts';
import { startPrivateMongo, startPrivateRedis } from '../support/servers.ts';
import { addWorkerProcess, type Service, startService } from '../support/service.ts';
import { createFault } from '../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';

/** docs/operators/operations.md promises that a change shows within ten seconds. */
const withinMs = 30_000;

const showsState = (service: Service, state: string) =>
  eventually(async () => {
    const { status, body } = await getJson(service, '/api/v1/status');
    expect(status).toBe(200);
    return body.status === state && body;
  }, withinMs);

const pageSays = async (service: Service, sentence: string) => expect(await (await service.fetch('/status')).text()).toContain(sentence);

test('the only worker stopped, or killed: outage within 10 s, operational again once one runs (Public JSON)', async () => {
  const service = await startService({ settings: { STAMP_WAIT_MS: '500' } });
  const well = await showsState(service, 'operational');
  await service.workers[0]?.stop();
  const out = await showsState(service, 'outage');
  const [since = ''] = /(?<=Since <time datetime=")[^"]+/.exec(await (await service.fetch('/status')).text()) ?? [];
  expect(String(well.time) < since && since <= String(out.time)).toBe(true);
  expect(out.provider).toMatchObject({ name: 'mock', status: 'outage' });
  await pageSays(service, 'No worker reports.');
  expect((await stampInternal(service, { hash: randomHash() })).status).toBe(504);
  const waiting = await eventually(async () => {
    const { body } = await getJson(service, '/api/v1/status');
    const { depth, oldest_job_age_seconds: age } = body.queue as { depth: number; oldest_job_age_seconds: number | null };
    return depth === 1 && age !== null && age > 1 && body;
  }, withinMs);
  expect(waiting.status).toBe('outage');
  const worker = await addWorkerProcess(service);
  await showsState(service, 'operational');
  await worker.kill();
  await showsState(service, 'outage');
  await service.startWorker();
  const back = await showsState(service, 'operational');
  expect(back.queue).toMatchObject({ depth: 0, oldest_job_age_seconds: null });
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
  expect(out.queue).toEqual({ depth: null, oldest_job_age_seconds: null, durability: 'unknown', failed_jobs: null });
  await pageSays(service, 'The queue does not answer.');
  await redis.start();
  await showsState(service, 'operational');
});

test('the preferred provider broken: degraded within 10 s while another one stamps, outage when both are; it recovers (Public JSON)', async () => {
  const [first, second] = await Promise.all([startTsa(), startTsa()]);
  const settings = providersSettings([{ tsa: first, qualified: true }, { tsa: second }]);
  const service = await startService({ settings });
  const stamp = async () => (await stampInternal(service, { hash: randomHash() })).status;
  const showsProviders = (status: string, states: readonly string[]) =>
    eventually(async () => {
      const { body } = await getJson(service, '/api/v1/status');
      const shown = (body.providers as { status: string }[]).map((provider) => provider.status);
      return body.status === status && shown.join() === states.join() && body;
    }, withinMs);

  expect(await stamp()).toBe(201);
  await eventually(async () => {
    const { provider } = await showsProviders('operational', ['operational', 'operational']);
    return (provider as { is_qualified: boolean }).is_qualified;
  }, withinMs);

  first.server.failAlways(createFault('status'));
  for (let call = 0; call < 4; call += 1) expect(await stamp()).toBe(201);
  await showsProviders('degraded', ['outage', 'operational']);

  second.server.failAlways(createFault('status'));
  for (let call = 0; call < 4; call += 1) expect(await stamp()).toBe(502);
  await showsProviders('outage', ['outage', 'outage']);
  await pageSays(service, 'Stamps cannot be made at the moment.');

  first.server.failAlways(undefined);
  second.server.failAlways(undefined);
  // Without any request: workers ask failed providers once their breakers allow a call after 10 s.
  await eventually(async () => (await getJson(service, '/api/v1/status')).body.status === 'operational', 30_000);
  expect(await stamp()).toBe(201);
}, 90_000);
