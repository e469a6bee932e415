import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, getJson, randomHash, stampInternal, verifyById } from '../../support/requests.ts';
import { addWorker, type Service, startService } from '../../support/service.ts';
import { createFault } from '../../support/tsa-answers.ts';
import { postToDoor, randomDigest, statusOf } from '../../support/tsa-door.ts';
import { ask } from '../../support/tsa-lab.ts';
import { providersSettings, startTsa, type TsaService, tsaPolicy } from '../../support/tsa-service.ts';

/** A service with a door and its TSA, and an API without workers whose callers wait for a moment only. */
const closing: (() => void | Promise<void>)[] = [];
const onEnd = (close: () => void | Promise<void>) => void closing.push(close);
let door: TsaService;
let slow: Service;
beforeAll(async () => {
  const tsa = await startTsa({ onEnd });
  const settings = providersSettings([{ tsa, policy_oid: tsaPolicy }], onEnd);
  const service = await startService({ settings: { ...settings, RATE_TSA_PER_MINUTE: '0', STAMP_WAIT_MS: '4000' }, keep: true });
  onEnd(async () => void (await service.stop()));
  door = { service, tsa };
  slow = await startService({ settings: { ...settings, STAMP_WAIT_MS: '300' }, workers: 0, keep: true });
  onEnd(async () => void (await slow.stop()));
});
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

describe('a TSA behind the door', () => {
  test('gives a rejection with systemFailure if it fails (T1, RFC 3161 §2.4.2)', async () => {
    door.tsa.server.failAlways(createFault('rejected'));
    expect(statusOf(await postToDoor(door.service, ask().der))).toBe('rejection systemFailure');
    door.tsa.server.failAlways(undefined);
    await eventually(async () => statusOf(await postToDoor(door.service, ask().der)) === 'granted');
  });

  test('gives `waiting` if it is slower than the client, and the stamp can be read later (T1, E11)', async () => {
    const reply = await postToDoor(slow, ask().der);
    expect([reply.status, statusOf(reply)]).toEqual([200, 'waiting']);
    expect(reply.headers.has('retry-after')).toBe(true);
    await addWorker(slow);
    await eventually(async () => (await verifyById(slow, reply.headers.get('qstamp-stamp-id'))).body.valid === true);
  });

  test('ends a request by refusing it after the client left, and the promised address says so (T2, E11)', async () => {
    door.tsa.server.failAlways(createFault('refused:badAlg'));
    const reply = await postToDoor(slow, ask({ hash: 'sha512', digest: randomDigest('sha512') }).der);
    expect(statusOf(reply)).toBe('waiting');
    const tokenId = reply.headers.get('qstamp-stamp-id');
    await addWorker(slow);
    await eventually(async () => String((await verifyById(slow, tokenId)).body.reason).startsWith('request_refused: '));
    expect((await verifyById(slow, tokenId)).body).toMatchObject({ valid: false, token_id: tokenId, issued_at: null });
    const page = await slow.fetch(`/api/v1/verify/v1/token/${tokenId}`, { headers: { accept: 'application/xhtml+xml' } });
    expect(await page.text()).toMatch(/There is no stamp.*request_refused:/s);
    await eventually(async () => {
      const { body } = await getJson(slow, '/api/v1/status');
      return (body as { queue?: { depth?: number } }).queue?.depth === 0;
    });
    door.tsa.server.failAlways(undefined);
  });

  test('gives a rejection with badAlg if it refuses SHA-512; such requests cannot make it look broken (T2)', async () => {
    door.tsa.server.failAlways(createFault('refused:badAlg'));
    const { der } = ask({ hash: 'sha512', digest: randomDigest('sha512') });
    for (let asked = 0; asked < 6; asked++) expect(statusOf(await postToDoor(door.service, der))).toBe('rejection badAlg');
    door.tsa.server.failAlways(undefined);
    expect((await stampInternal(door.service, { hash: randomHash() })).status).toBe(201);
    // The worker reports on its provider each second: no request has reached it before.
    await expect
      .poll(async () => (await getJson(door.service, '/health/')).body)
      .toMatchObject({ status: 'ok', checks: { provider: 'ok' } });
  });
});
