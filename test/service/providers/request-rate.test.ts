import { expect, onTestFinished, test } from 'vitest';
import { runOperator } from '../../support/cli.ts';
import { scrape, seriesValue } from '../../support/metrics.ts';
import { patience } from '../../support/pace.ts';
import { getJson, type JsonAnswer, randomHash, stampInternal, verifyById } from '../../support/requests.ts';
import { startPrivateRedis } from '../../support/servers.ts';
import { type RunningService, type Settings, startService } from '../../support/service.ts';
import { startStrictTsa } from '../../support/strict-tsa.ts';
import { createFault } from '../../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';

const promised = { prefer: 'respond-async' };
const stampMany = (service: RunningService, count: number, headers: Record<string, string> = {}): Promise<JsonAnswer[]> =>
  Promise.all(Array.from({ length: count }, () => stampInternal(service, { hash: randomHash() }, headers)));
const statusesOf = (answers: readonly JsonAnswer[]) => [...new Set(answers.map(({ status }) => status))];

/** Waits until all of these stamps are made. */
async function untilMade(service: RunningService, answers: readonly JsonAnswer[]): Promise<void> {
  for (const { body } of answers) {
    await expect.poll(async () => (await verifyById(service, body.token_id)).body.valid, { timeout: patience(90_000) }).toBe(true);
  }
}

async function runCheck(environment: Settings, ...args: string[]) {
  const { code, stdout, stderr } = await runOperator(['check-providers', ...args], environment);
  return { code, said: stdout + stderr };
}

test('a TSA that blocks for ever at the 21st request in its period never blocks: tests, second tries and all workers count', async () => {
  const strict = await startStrictTsa({ requests: 20, periodMs: 1_000 });
  strict.tsa.server.failNext(createFault('status:503'), createFault('reset'), createFault('status:503'));
  const settings = providersSettings([{ tsa: strict.tsa, rate: { requests: 20, per_seconds: 1 } }]);
  const service = await startService({ settings: { ...settings, STAMP_WAIT_MS: '1000' }, workers: 3 });
  const [waiting, later] = await Promise.all([stampMany(service, 30), stampMany(service, 30, promised)]);
  expect(statusesOf(later)).toEqual([202]);
  expect(statusesOf(waiting).every((status) => status === 201 || status === 504)).toBe(true);
  await untilMade(service, [...waiting, ...later]);
  expect([strict.isBlocked(), strict.arrivals.length >= 60]).toEqual([false, true]);
});

test('what does not fit goes to the next provider', async () => {
  const [first, second] = [await startTsa(), await startTsa()];
  const service = await startService({
    settings: providersSettings([{ tsa: first, rate: { requests: 3, per_seconds: 600 } }, { tsa: second }]),
  });
  const providers = [];
  for (let stamp = 0; stamp < 5; stamp += 1) providers.push((await stampInternal(service, { hash: randomHash() })).body.tsp_provider);
  // One request was the test at the start.
  expect([providers, first.server.received.length]).toEqual([['tsa-1', 'tsa-1', 'tsa-2', 'tsa-2', 'tsa-2'], 3]);
});

test('with aggregate, stamps wait for the next request and share it', async () => {
  const strict = await startStrictTsa({ requests: 1, periodMs: 1_000 });
  const settings = providersSettings([{ tsa: strict.tsa, aggregate: {}, rate: { requests: 1, per_seconds: 1 } }]);
  const service = await startService({ settings, workers: 2 });
  const answers = await stampMany(service, 200);
  expect(statusesOf(answers)).toContain(201);
  await untilMade(service, answers);
  expect([strict.isBlocked(), strict.arrivals.length < 50]).toEqual([false, true]);
});

test('a caller who waits longer than the provider allows gets 504 with the address, and the stamp is made when a request may go', async () => {
  const strict = await startStrictTsa({ requests: 1, periodMs: 4_000 });
  const settings = providersSettings([{ tsa: strict.tsa, aggregate: {}, rate: { requests: 1, per_seconds: 4 } }]);
  const service = await startService({ settings: { ...settings, STAMP_WAIT_MS: '1000' } });
  const answers = await stampMany(service, 10);
  expect(statusesOf(answers)).toEqual([504]);
  expect(answers[0]?.body.verify_url).toContain(answers[0]?.body.token_id);
  await untilMade(service, answers);
  expect(strict.isBlocked()).toBe(false);
});

test('status, metrics and check-providers show what is left and when the next request may go; a check counts, and without a rest nothing is asked', async () => {
  const tsa = await startTsa();
  const rate = { requests: 2, per_seconds: 600 };
  const service = await startService({ settings: { ...providersSettings([{ tsa, rate }]), METRICS_PORT: '0' } });
  const check = async () => {
    const { code, said } = await runCheck(service.settings, '--json');
    return { code, ...JSON.parse(said) };
  };
  const shown = async () => (await getJson(service, '/api/v1/status')).body.provider;
  await expect.poll(shown).toMatchObject({ rate: { ...rate, left: 1 }, next_request_at: null });
  expect(await check()).toMatchObject({ code: 0, verdict: 'ok', rate: { ...rate, left: 0 }, next_request_at: expect.any(String) });
  expect(await check()).toMatchObject({ code: 0, verdict: 'not_asked', fault: expect.stringContaining('rate') });
  expect(tsa.server.received.length).toBe(2);
  await expect.poll(shown).toMatchObject({ rate: { ...rate, left: 0 }, next_request_at: expect.stringMatching(/Z$/) });
  const text = await scrape(service.workers[0]!);
  expect(seriesValue(text, 'qstamp_provider_requests_left{provider="tsa-1"}')).toBe(0);
  expect(seriesValue(text, 'qstamp_provider_next_request_seconds{provider="tsa-1"}')).toBeGreaterThan(500);
});

test('requests are not sent when they cannot be counted: check-providers says that Redis does not answer', async () => {
  const tsa = await startTsa();
  const environment = { ...providersSettings([{ tsa, rate: { requests: 2, per_seconds: 600 } }]), REDIS_URL: 'redis://127.0.0.1:1' };
  expect(await runCheck(environment)).toEqual({ code: 1, said: expect.stringContaining('REDIS_URL') });
  expect(tsa.server.received.length).toBe(0);
});

test('while Redis does not answer, nothing is sent, and the TSA is not blamed', async () => {
  const redis = await startPrivateRedis();
  onTestFinished(redis.dispose);
  const [rated, other] = [await startTsa(), await startTsa()];
  const settings = providersSettings([{ tsa: rated, rate: { requests: 100, per_seconds: 600 } }, { tsa: other }]);
  const service = await startService({ settings: { ...settings, REDIS_URL: redis.url } });
  await stampInternal(service, { hash: randomHash() });
  const sent = rated.server.received.length;
  await redis.pause();
  const answers = await stampMany(service, 10);
  expect(rated.server.received.length).toBe(sent);
  expect(answers.every(({ status }) => status === 503 || status === 504)).toBe(true);
  await redis.resume();
  await expect.poll(async () => (await stampInternal(service, { hash: randomHash() })).body.tsp_provider).toBe('tsa-1');
});
