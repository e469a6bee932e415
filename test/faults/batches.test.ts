import { expect, test } from 'vitest';
import { collectionOf, openDatabase } from '../support/database.ts';
import { tries } from '../support/depth.ts';
import { breakableMongo } from '../support/fault-run.ts';
import { eventually, expectStamped, type JsonAnswer, listStampIds, randomHash, stampInternal, verifyById } from '../support/requests.ts';
import { freshDatabase } from '../support/servers.ts';
import { addWorkerProcess, type Service, startService } from '../support/service.ts';
import { createFault } from '../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';

const stampMany = (service: Service, count: number): Promise<JsonAnswer[]> =>
  Promise.all(Array.from({ length: count }, () => stampInternal(service, { hash: randomHash() })));

/** Each answer has exactly one stamp, and each leaf is valid and in one stored batch. */
async function expectEachOnce(service: Service, answers: readonly JsonAnswer[]): Promise<void> {
  expect(new Set(answers.map(({ status }) => status)).difference(new Set([201, 504]))).toEqual(new Set());
  await expectStamped(service, answers, 60_000);
  expect((await listStampIds(service)).toSorted()).toEqual(answers.map(({ body }) => String(body.token_id)).toSorted());
  const db = await openDatabase(service);
  expect(await collectionOf(db, 'stamps').countDocuments({ proofs: { $not: { $size: 1 } } })).toBe(0);
  for (const { status, body } of answers) {
    const { body: verified } = await verifyById(service, body.token_id);
    expect(verified).toMatchObject({ valid: true, ...(status === 201 && { issued_at: body.issued_at }) });
  }
}

test('S7, S14: workers killed between the answer of the TSA and the write lose no stamp and make no duplicates', async () => {
  const tsa = await startTsa();
  const settings = providersSettings([{ tsa, aggregate: { max_leaves: 12 }, timeout_ms: 3_000 }]);
  const service = await startService({ workers: 0, settings: { ...settings, STAMP_WAIT_MS: '20000' } });
  const mortals = await Promise.all([addWorkerProcess(service), addWorkerProcess(service)]);
  const answers: JsonAnswer[] = [];
  let isDone = false;
  const clients = Array.from({ length: 16 }, async () => {
    for (let request = 0; request < tries(15, 3) || !isDone; request += 1)
      answers.push(await stampInternal(service, { hash: randomHash() }));
  });
  for (const worker of mortals) {
    // The TSA has been asked and will answer soon, so the worker is interrupted at some step after that.
    const asked = tsa.server.received.length;
    await eventually(async () => tsa.server.received.length > asked, 20_000, 1);
    await worker.kill();
    await service.startWorker();
  }
  isDone = true;
  await Promise.all(clients);
  await expectEachOnce(service, answers);
});

test('S14, E9: a wrong batch answer costs no stamp if another TSA is configured, otherwise only that batch', async () => {
  const [liar, second] = [await startTsa(), await startTsa()];
  const aggregate = { max_leaves: 10, window_ms: 1_000 };
  const entries = [liar, second].map((tsa) => ({ tsa, aggregate }));
  const service = await startService({ settings: providersSettings(entries) });
  const received = () => [liar, second].map(({ server }) => server.received.length);
  const [before = 0, beforeSecond = 0] = received();
  liar.server.failNext(createFault('other_imprint'));
  const answers = await stampMany(service, 10);
  expect(new Set(answers.map(({ body }) => body.tsp_provider))).toEqual(new Set(['tsa-2']));
  expect(received()).toEqual([before + 1, beforeSecond + 1]);
  await expectEachOnce(service, answers);

  // Not the TSA that has failed: the first service tests it again and again, and such a test would get the fault.
  const lonely = await startService({ settings: providersSettings([{ tsa: second, aggregate }]) });
  second.server.failNext(createFault('bad_signature'));
  for (const status of [502, 201]) expect(await stampMany(lonely, 10)).toMatchObject(Array(10).fill({ status }));
  expect(await listStampIds(lonely)).toHaveLength(10);
});

test('S14, E10: if the store is away when the TSA answers, it gets each stamp once it is back, with one batch', async () => {
  const mongo = await breakableMongo();
  const tsa = await startTsa();
  const settings = { ...providersSettings([{ tsa, aggregate: { max_leaves: 20, window_ms: 1_000 } }]), STAMP_WAIT_MS: '4000' };
  const service = await startService({ settings: { ...settings, MONGODB_URL: freshDatabase(mongo.url) } });
  const asked = tsa.server.received.length;
  tsa.server.failNext(createFault('slow:700'));
  const waiting = stampMany(service, 20);
  await eventually(async () => tsa.server.received.length > asked, 20_000, 5);
  await mongo.kill();
  const answers = await waiting;
  await mongo.start();
  await expectEachOnce(service, answers);
});
