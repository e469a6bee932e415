import { afterAll, beforeAll, expect, test } from 'vitest';
import { tries } from '../support/depth.ts';
import { eventually, expectStamped, type JsonAnswer, listStampIds, randomHash, stampInternal, verifyById } from '../support/requests.ts';
import { freshDatabase, startPrivateMongo } from '../support/servers.ts';
import { startService } from '../support/service.ts';

let mongo: Awaited<ReturnType<typeof startPrivateMongo>>;
beforeAll(async () => {
  mongo = await startPrivateMongo();
});
afterAll(() => mongo?.dispose());

/** Each test has its own database on one server, which all tests break. */
const databaseUrl = () => freshDatabase(mongo.url);

test('MongoDB stopped: 504 with the id of the accepted stamp, which is made once it is back, without a restart (E10, E11)', async () => {
  const service = await startService({ settings: { MONGODB_URL: databaseUrl(), STAMP_WAIT_MS: '1500' } });
  expect((await stampInternal(service, { hash: randomHash() })).status).toBe(201);

  await mongo.stop();
  const accepted = await Promise.all(Array.from({ length: 70 }, () => stampInternal(service, { hash: randomHash() })));
  for (const { status, headers, body } of accepted) {
    expect(status).toBe(504);
    expect(headers.get('retry-after')).toMatch(/^\d+$/);
    expect(body).toEqual({
      detail: expect.any(String),
      code: 'stamp_pending',
      request_id: expect.any(String),
      token_id: expect.any(String),
      verify_url: `/api/v1/verify/v1/token/${body.token_id}`,
    });
  }
  const unavailable = await verifyById(service, accepted[0]?.body.token_id);
  expect(unavailable.status).toBe(503);
  expect(unavailable.body).toEqual({ detail: expect.any(String), code: 'store_unavailable', request_id: expect.any(String) });
  const sealed = await stampInternal(service, { content_b64: 'AAAA', tier: 'sealed' });
  expect(sealed.status).toBe(503);
  expect((await service.fetch('/health/live')).status).toBe(200);
  expect((await service.fetch('/health/ready')).status).toBe(503);

  await mongo.start();
  await expectStamped(service, accepted, 40_000);
  expect(await listStampIds(service)).toHaveLength(71);
});

test('MongoDB killed under load loses no stamp that got 201', async () => {
  const service = await startService({ settings: { MONGODB_URL: databaseUrl() } });
  const answers: JsonAnswer[] = [];
  const clients = Array.from({ length: 16 }, async () => {
    for (let request = 0; request < tries(15, 8); request += 1) answers.push(await stampInternal(service, { hash: randomHash() }));
  });
  await eventually(async () => answers.length > 30);
  await mongo.kill();
  await mongo.start();
  await Promise.all(clients);
  expect(new Set(answers.map(({ status }) => status)).difference(new Set([201, 504]))).toEqual(new Set());
  await expectStamped(service, answers);
});

test('a worker and an API that start while MongoDB is down make the accepted stamps once it is back (E11)', async () => {
  await mongo.stop();
  const service = await startService({ settings: { MONGODB_URL: databaseUrl(), STAMP_WAIT_MS: '500' } });
  const { status, body } = await stampInternal(service, { hash: randomHash() });
  expect(status).toBe(504);
  await mongo.start();
  expect(await eventually(async () => (await verifyById(service, body.token_id)).body.valid, 40_000)).toBe(true);
}, 90_000);
