import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runOperator } from '../../support/cli.ts';
import { scrape, seriesValue } from '../../support/metrics.ts';
import { opensslQuery, opensslVerify } from '../../support/openssl-tsa.ts';
import { makeOwnKey, ownKeySettings } from '../../support/own-key.ts';
import { eventually, getJson, randomHash, stampInternal, verifyById, verifyRaw } from '../../support/requests.ts';
import { startPart, startService, testSettings } from '../../support/service.ts';
import { startTimeServer } from '../../support/time-server.ts';
import { createFault } from '../../support/tsa-answers.ts';
import { postToDoor, statusOf } from '../../support/tsa-door.ts';
import { ask } from '../../support/tsa-lab.ts';
import { startTsa, tsaPolicy } from '../../support/tsa-service.ts';

/** A service with its own key; its clock is this far behind the time servers. */
async function startOwn(options: { aheadMs?: readonly number[]; clock?: object; others?: readonly object[]; dir?: object } = {}) {
  const key = makeOwnKey();
  const servers = await Promise.all((options.aheadMs ?? [0]).map((offsetMs) => startTimeServer({ offsetMs })));
  const clock = { ntp: servers.map(({ name }) => name), ...options.clock };
  const settings = { ...ownKeySettings(key, { clock }, options.others), METRICS_PORT: '0', RATE_STATUS_PER_MINUTE: '0' };
  return { key, settings, service: await startService({ settings }) };
}

const status = async (service: Awaited<ReturnType<typeof startService>>) =>
  (await getJson(service, '/api/v1/status')).body as unknown as {
    status: string;
    providers: { status: string; clock?: { status: string; drift_ms: number } }[];
  };

describe('a key of one’s own', () => {
  test('stamps for the door and for every caller; others can verify it, and it is never called qualified', async () => {
    const { key, service } = await startOwn();
    const rootPem = readFileSync(key.rootFile, 'utf8');
    const query = await opensslQuery({ digest: randomHash() });
    const reply = await postToDoor(service, query);
    expect(statusOf(reply)).toBe('granted');
    expect((await opensslVerify({ answer: reply.body, against: { query }, rootPem })).output).toContain('Verification: OK');
    const tokenId = reply.headers.get('qstamp-stamp-id');
    expect((await verifyById(service, tokenId)).body).toMatchObject({ valid: true, tsp_provider: 'own-tsa', is_qualified: false });
    expect((await verifyRaw(service, reply.body.toString('base64'))).body).toMatchObject({ valid: true, token_id: tokenId });

    const { status: made, body } = await stampInternal(service, { hash: randomHash() });
    expect([made, body.tsp_provider, body.is_qualified]).toEqual([201, 'own-tsa', false]);
    expect(statusOf(await postToDoor(service, ask({ policy: '2.999.17.5' }).der))).toBe('granted');
    expect(statusOf(await postToDoor(service, ask({ policy: '2.999.17.6' }).der))).toBe('rejection unacceptedPolicy');

    await eventually(async () => (await status(service)).providers[0]?.clock?.status === 'ok');
    // The clock is confirmed before the first stamp, so the last state from a worker may not include a call yet.
    const health = async () => (await getJson(service, '/health/')).body as { status: string; checks: object };
    await eventually(async () => (await health()).status === 'ok');
    expect((await health()).checks).toMatchObject({ provider: 'ok', clock: 'ok' });
    const text = await scrape(service.workers[0]!);
    expect(seriesValue(text, 'qstamp_clock_state{provider="own-tsa",state="ok"}')).toBe(1);
    expect(seriesValue(text, 'qstamp_clock_drift_seconds{provider="own-tsa"}')).toEqual(expect.any(Number));
  });

  test('is read by workers only: without the file an API serves, and a worker ends with one line (rule 8)', async () => {
    const key = makeOwnKey();
    const settings = { ...(await testSettings(ownKeySettings(key))), TSA_DOOR: 'public' };
    renameSync(join(key.dir, 'tsa.key'), join(key.dir, 'away.key'));
    const api = await startPart('api', settings);
    expect((await fetch(`${api.url}/health/live`)).status).toBe(200);
    await expect(startPart('workers', settings)).rejects.toThrow(/^TSP_PROVIDERS_FILE: \(own-tsa\)\.key_file: ".*" cannot be read$/);
    await api.stop();
  });

  test('that has been replaced leaves its stamps valid (V2)', async () => {
    const { key, service } = await startOwn();
    const reply = await postToDoor(service, ask().der);
    const other = makeOwnKey();
    const settings = { ...service.settings, ...ownKeySettings(other, { name: 'own-tsa-2' }), TRUST_ANCHORS_FILE: key.rootFile };
    const next = await startService({ settings, workers: 0 });
    expect((await verifyById(next, reply.headers.get('qstamp-stamp-id'))).body).toMatchObject({ valid: true });
  });
});

describe('a clock that is not right', () => {
  test('stops the key: timeNotAvailable at the door, 502 elsewhere; status, health and metrics show it (RFC 3161 §2.4.2)', async () => {
    const { service } = await startOwn({ aheadMs: [3_600_000] });
    const reply = await postToDoor(service, ask().der);
    expect([reply.status, statusOf(reply)]).toEqual([200, 'rejection timeNotAvailable']);
    const { status: answered, body } = await stampInternal(service, { hash: randomHash() });
    expect([answered, body]).toMatchObject([502, { code: 'provider_failed', detail: expect.stringContaining('clock') }]);

    await eventually(async () => (await status(service)).providers[0]?.clock?.status === 'off');
    const shown = await status(service);
    expect(shown).toMatchObject({ status: 'outage', providers: [{ status: 'outage' }] });
    // On a slow machine the reading is off by seconds (RFC 4330 §5), but not by minutes.
    expect(shown.providers[0]!.clock!.drift_ms).toBeLessThan(-3_000_000);
    const checks = { provider: 'failing', clock: 'failing' };
    expect((await getJson(service, '/health/')).body).toMatchObject({ status: 'degraded', checks });
    const page = await service.fetch('/status');
    expect(await page.text()).toMatch(/The clock is off by [\d,]+ ms\. The service issues no stamps by it\./);
    const text = await scrape(service.workers[0]!);
    expect(seriesValue(text, 'qstamp_clock_state{provider="own-tsa",state="off"}')).toBe(1);
    expect(seriesValue(text, 'qstamp_provider_state{provider="own-tsa",state="outage"}')).toBe(1);
    expect(service.workers[0]!.output()).toMatch(/"level":"error".*"code":"time_not_available"/);
  });

  test('stops the key also if the clock is unconfirmed, and another TSA stamps instead', async () => {
    const tsa = await startTsa();
    const key = makeOwnKey();
    writeFileSync(join(key.dir, 'other.pem'), tsa.pki.rootPem);
    const other = { name: 'other-tsa', url: tsa.url, policy_oid: tsaPolicy, trust_anchors_file: 'other.pem' };
    // With an accuracy of a second it is too coarse to confirm a clock to 100 ms.
    const settings = ownKeySettings(key, { clock: { ntp: ['127.0.0.1:9'], max_drift_ms: 100 } }, [other]);
    const service = await startService({ settings });
    const { body } = await stampInternal(service, { hash: randomHash() });
    expect(body.tsp_provider).toBe('other-tsa');
    tsa.server.failAlways(createFault('status:500'));
    expect(statusOf(await postToDoor(service, ask().der))).toBe('rejection systemFailure');
  });

  test('is detected by another TSA: one source confirms it, one does not', async () => {
    const tsa = await startTsa();
    tsa.server.failAlways(createFault('future:7200'));
    const key = makeOwnKey();
    writeFileSync(join(key.dir, 'other.pem'), tsa.pki.rootPem);
    const server = await startTimeServer();
    const other = { name: 'other-tsa', url: tsa.url, trust_anchors_file: 'other.pem' };
    const service = await startService({ settings: ownKeySettings(key, { clock: { ntp: [server.name] } }, [other]) });
    await eventually(async () => (await status(service)).providers[0]?.clock?.status === 'off');
    expect(statusOf(await postToDoor(service, ask().der))).toMatch(/^rejection (timeNotAvailable|systemFailure)$/);
    tsa.server.failAlways(undefined);
    await eventually(async () => statusOf(await postToDoor(service, ask().der)) === 'granted');
  });
});

test('check-providers shows an own key, and the measured state of its clock', async () => {
  const run = (settings: Record<string, string>) => runOperator(['check-providers'], settings);
  const [right, wrong] = [await startTimeServer(), await startTimeServer({ offsetMs: 3_600_000 })];
  const key = makeOwnKey();
  const good = await run(ownKeySettings(key, { clock: { ntp: [right.name] } }));
  expect(good).toMatchObject({ code: 0, stdout: expect.stringMatching(/^own-tsa: ok\n {2}certificate CN=Own TSA, valid until .*Z\n/) });
  expect(good.stdout).toMatch(/\n {2}clock {7}ours, (as|\d+ ms (ahead of|behind)) that of others\n/);
  expect((await run(ownKeySettings(key))).stdout).toMatch(/\n {2}clock {7}ours, unchecked\n/);
  const bad = await run(ownKeySettings(key, { clock: { ntp: [wrong.name] } }));
  const [, driftMs] = /^own-tsa: failed: the clock is off by (-?\d+) ms; 1000 ms/.exec(bad.stdout) ?? [];
  expect([bad.code, Number(driftMs) < -3_000_000]).toEqual([1, true]);
});
