import { expect, test } from 'vitest';
import { breakableMongo } from '../support/fault-run.ts';
import { eventually, expectStamped, listStampIds, randomHash, stampInternal, verifyById } from '../support/requests.ts';
import { freshDatabase } from '../support/servers.ts';
import { startService } from '../support/service.ts';

test('E10, E11: without MongoDB: 504 with the id of the accepted stamp, which is made once it is back, also by parts that start meanwhile', async () => {
  const mongo = await breakableMongo();
  const service = await startService({ settings: { MONGODB_URL: freshDatabase(mongo.url), STAMP_WAIT_MS: '1500' } });
  await mongo.stop();
  const accepted = await Promise.all(Array.from({ length: 70 }, () => stampInternal(service, { hash: randomHash() })));
  for (const { status, headers, body } of accepted) {
    const named = { code: 'stamp_pending', verify_url: `/api/v1/verify/v1/token/${body.token_id}` };
    expect([status, headers.get('retry-after'), body]).toMatchObject([504, expect.stringMatching(/^\d+$/), named]);
  }
  const away = { status: 503, body: { code: 'store_unavailable' } };
  expect(await verifyById(service, accepted[0]?.body.token_id)).toMatchObject(away);
  expect(await stampInternal(service, { content_b64: 'AAAA', tier: 'sealed' })).toMatchObject(away);
  const late = await startService({ settings: { MONGODB_URL: freshDatabase(mongo.url), STAMP_WAIT_MS: '500' } });
  const { status, body } = await stampInternal(late, { hash: randomHash() });
  expect(status).toBe(504);

  await mongo.start();
  await expectStamped(service, accepted, 40_000);
  expect(await listStampIds(service)).toHaveLength(70);
  expect(await eventually(async () => (await verifyById(late, body.token_id)).body.valid, 40_000)).toBe(true);
});
