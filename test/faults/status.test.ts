import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { expectState } from '../support/component-state.ts';
import { breakableMongo } from '../support/fault-run.ts';
import { eventually, getJson, type JsonObject, randomHash, stampInternal, verifyById } from '../support/requests.ts';
import { freshDatabase, startPrivateRedis } from '../support/servers.ts';
import { addWorkerProcess, type Service, startService } from '../support/service.ts';
import { refuseWrites } from '../support/store-faults.ts';
import { createFault } from '../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';
import { stampOutput, startWorkflow } from '../support/workflows.ts';

const stamp = (service: Service) => stampInternal(service, { hash: randomHash() });
const statusOf = async (service: Service) => (await getJson(service, '/api/v1/status')).body;

/** Waits for a state; docs/operators/run.md promises that a change shows within ten seconds. */
const showsState = (service: Service, state: string, isIt: (body: JsonObject) => unknown = () => true) =>
  eventually(async () => {
    const body = await statusOf(service);
    return body.status === state && Boolean(isIt(body)) && body;
  });
const pageSays = async (service: Service, sentence: string) => expect(await (await service.fetch('/status')).text()).toContain(sentence);

test('E10: a store or a queue that is away or refuses writes: alive, not ready, an outage, 503; it recovers by itself', async () => {
  const [mongo, redis] = [await breakableMongo(), await startPrivateRedis()];
  onTestFinished(redis.dispose);
  const settings = { MONGODB_URL: freshDatabase(mongo.url), REDIS_URL: redis.url, STAMP_WAIT_MS: '1000' };
  const service = await startService({ settings });
  const workflow = await startWorkflow(service);
  const { body: before } = await stamp(service);
  const verifies = async () => expect((await verifyById(service, before.token_id)).body.valid).toBe(true);
  await showsState(service, 'operational', ({ counters }) => (counters as { lifetime: { stamps: number } }).lifetime.stamps === 1);
  const noFigure = { depth: null, oldest_job_age_seconds: null, durability: 'unknown', survives: 'unknown', failed_jobs: null };
  const stopped = async ({ stop, start }: Pick<typeof mongo, 'stop' | 'start'>) => {
    await stop();
    return start;
  };
  const filled = async () => {
    const client = new Redis(redis.url);
    await client.config('SET', 'maxmemory', '1');
    return () => client.config('SET', 'maxmemory', '0').then(() => client.disconnect());
  };

  const [queue, store] = [
    { redis: 'failing', mongodb: 'ok' },
    { redis: 'ok', mongodb: 'failing' },
  ];
  const counted = { counters: { lifetime: { stamps: 1 } } };
  for (const [checks, sentence, shown, breakIt] of [
    [queue, 'The queue does not answer.', { queue: noFigure }, () => stopped(redis)],
    [queue, 'The queue accepts no writes.', {}, filled],
    [store, 'The store does not answer.', counted, () => stopped(mongo)],
    [store, 'The store accepts no writes.', counted, () => refuseWrites(mongo)],
  ] as const) {
    const repair = await breakIt();
    await expectState(service, checks, sentence);
    expect((await service.fetch('/health/live')).status).toBe(200);
    expect(await statusOf(service), sentence).toMatchObject(shown);
    if (sentence !== 'The store does not answer.') {
      const refused = { status: 503, body: { code: checks === queue ? 'queue_unavailable' : 'store_unavailable' } };
      expect([await stamp(service), await stampOutput(service, workflow)], sentence).toMatchObject([refused, refused]);
      await verifies();
    }
    await repair();
    await expectState(service, { redis: 'ok', mongodb: 'ok' }, '');
  }
  await eventually(async () => (await stamp(service)).status === 201);
  await verifies();
});

test('the only worker stopped, or killed: an outage since then, with the age of the oldest job; operational again once one runs', async () => {
  const service = await startService({ settings: { STAMP_WAIT_MS: '500' } });
  const well = await showsState(service, 'operational');
  await service.workers[0]?.stop();
  const out = await showsState(service, 'outage', ({ provider }) => provider);
  const [since = ''] = /(?<=Since <time datetime=")[^"]+/.exec(await (await service.fetch('/status')).text()) ?? [];
  expect(String(well.time) < since && since <= String(out.time)).toBe(true);
  expect(out.provider).toMatchObject({ name: 'mock', status: 'outage' });
  await pageSays(service, 'No worker reports.');
  expect((await stamp(service)).status).toBe(504);
  type Queue = { depth: number; oldest_job_age_seconds: number | null };
  await showsState(service, 'outage', ({ queue }) => (queue as Queue).depth === 1 && Number((queue as Queue).oldest_job_age_seconds) > 1);
  const worker = await addWorkerProcess(service);
  await showsState(service, 'operational');
  await worker.kill();
  await showsState(service, 'outage');
  await service.startWorker();
  expect((await showsState(service, 'operational')).queue).toMatchObject({ depth: 0, oldest_job_age_seconds: null });
});

test('the preferred provider broken: degraded while another one stamps, outage when both are; they recover without a request', async () => {
  const [first, second] = await Promise.all([startTsa(), startTsa()]);
  const service = await startService({ settings: providersSettings([{ tsa: first, qualified: true }, { tsa: second }]) });
  const showsProviders = (status: string, ...states: string[]) =>
    showsState(service, status, ({ providers }) => (providers as JsonObject[]).map((each) => each.status).join() === states.join());
  expect((await stamp(service)).status).toBe(201);
  await showsState(service, 'operational', ({ provider }) => (provider as JsonObject).is_qualified);
  const failures: [typeof first, number, string, string, string][] = [
    [first, 201, 'degraded', 'outage', 'operational'],
    [second, 502, 'outage', 'outage', 'outage'],
  ];
  for (const [{ server }, answer, ...shown] of failures) {
    server.failAlways(createFault('status'));
    for (let call = 0; call < 4; call += 1) expect((await stamp(service)).status).toBe(answer);
    await showsProviders(...shown);
  }
  await pageSays(service, 'Stamps cannot be made at the moment.');
  for (const { server } of [first, second]) server.failAlways(undefined);
  // Workers ask failed providers once their breakers allow a call after 10 s.
  await showsProviders('operational', 'operational', 'operational');
  expect((await stamp(service)).status).toBe(201);
});
