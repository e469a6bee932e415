import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statusResponse } from '../../../src/shared/contract/status.ts';
import { tries } from '../../support/depth.ts';
import { freshAddress, limitedService } from '../../support/limited-service.ts';
import { eventually, getJson, postJson, randomHash, stampAgent, stampInternal, verifyById, verifyRaw } from '../../support/requests.ts';
import { type RunningService, type Service, serviceToken, sharedService, startService } from '../../support/service.ts';
import { createFault } from '../../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ keep: true });
});
afterAll(() => service.stop());

const readStatus = async (from = service) => statusResponse.parse((await getJson(from, '/api/v1/status')).body);

describe('GET /api/v1/status (decisions, Public JSON)', () => {
  test('has exactly the members of the decision, and may be cached for two seconds', async () => {
    const status = await eventually(async () => {
      const answer = await getJson(service, '/api/v1/status');
      expect(answer.status).toBe(200);
      expect(answer.headers.get('cache-control')).toBe('public, max-age=2');
      const read = statusResponse.parse(answer.body);
      return read.status === 'operational' && read.provider.last_success_at !== null && read.evidence.last_run_at !== null && answer.body;
    });
    const provider = {
      name: 'mock',
      is_qualified: false,
      qualification: 'not_qualified',
      qualified: { status: 'not_qualified', basis: null, reason: 'mock_provider: The mock provider made it.' },
      status: 'operational',
      last_success_at: expect.stringMatching(/Z$/),
      latency_ms: { p50: expect.any(Number), p95: expect.any(Number) },
      next_request_at: null,
    };
    const counters = { stamps: 0, failed: 0, verifications: 0, workflows_started: 0, workflows_completed: 0, evidence_renewed: 0 };
    expect(status).toEqual({
      status: 'operational',
      version: '0.3.0',
      time: expect.stringMatching(/Z$/),
      uptime_seconds: expect.any(Number),
      provider,
      providers: [provider],
      mail: { status: 'not_configured' },
      queue: { depth: 0, oldest_job_age_seconds: null, durability: expect.any(String), survives: expect.any(String), failed_jobs: 0 },
      evidence: { last_run_at: expect.stringMatching(/Z$/), due: 0, lapsed: 0, unknown: 0 },
      trusted_lists: [],
      counters: { last_24h: counters, lifetime: counters },
    });
  });

  test('counts stamps and verifications within seconds, and shows the last success and the latencies', async () => {
    const before = await readStatus();
    const first = await stampInternal(service, { hash: randomHash() });
    await Promise.all([stampInternal(service, { hash: randomHash() }), stampAgent(service, 'basic', { hash: randomHash() })]);
    await verifyById(service, first.body.token_id);
    await verifyRaw(service, 'no token');
    const after = await eventually(async () => {
      const status = await readStatus();
      const { last_24h: day } = status.counters;
      return day.verifications === (before.counters.last_24h.verifications ?? 0) + 2 && status.provider.last_success_at !== null && status;
    });
    for (const span of ['last_24h', 'lifetime'] as const) {
      expect(after.counters[span]).toEqual({
        ...before.counters[span],
        stamps: (before.counters[span].stamps ?? 0) + 3,
        verifications: (before.counters[span].verifications ?? 0) + 2,
      });
    }
    expect(after.provider.latency_ms).toEqual({ p50: expect.any(Number), p95: expect.any(Number) });
  });

  test('figures are computed once for concurrent requests', async () => {
    const times = await Promise.all(Array.from({ length: tries(200, 50) }, async () => (await readStatus()).time));
    expect(new Set(times).size).toBeLessThanOrEqual(2);
  });

  test('reveals no caller, id, host or path, and neither does the page', async () => {
    const hash = randomHash();
    const stamped = await stampInternal(service, { hash, metadata: { customer: 'Erika' } }, { 'x-request-id': 'request-of-erika' });
    await eventually(async () => ((await readStatus()).counters.lifetime.stamps ?? 0) > 0);
    const texts = [JSON.stringify(await readStatus()), await (await service.fetch('/status')).text()];
    const { hostname } = new URL(service.settings.MONGODB_URL ?? '');
    const ofCaller = [hash, stamped.body.token_id, 'Erika', 'request-of-erika', serviceToken, '"test"'];
    const secrets = [...ofCaller, hostname, process.cwd(), 'mongodb:', 'redis:'];
    for (const text of texts) for (const secret of secrets) expect(text).not.toContain(secret);
    expect(texts[0]).not.toMatch(/\/|[0-9a-f]{8}-[0-9a-f]{4}|localhost/);
  });
});

test('without a mail server health and page say so, nothing counts as degraded, and workflows that need mail do not start (W19)', async () => {
  await eventually(async () => (await readStatus()).mail.status === 'not_configured');
  expect((await getJson(service, '/health/')).body).toMatchObject({ status: 'ok', checks: { provider: 'ok', mail: 'not_configured' } });
  expect(await (await service.fetch('/status')).text()).toContain('workflows of the tiers verified and qualified cannot start');
  const start = (tier: string) =>
    postJson(service, '/api/v1/workflow/start', { user_email: 'zoe@example.com', agent_id: 'a', briefing_hash: randomHash(), tier });
  expect(await start('verified')).toMatchObject({ status: 503, body: { code: 'mail_unavailable' } });
  expect((await start('standard')).status).toBe(201);
});

test('a qualified provider shows as not asked yet on every page and in health, until a verified token makes it qualified (V9)', async () => {
  const tsa = await startTsa();
  tsa.server.failAlways(createFault('bad_signature'));
  const asked = await startService({ settings: { ...providersSettings([{ tsa, qualified: true }]), RATE_STATUS_PER_MINUTE: '0' } });
  const showsProvider = (expected: object) =>
    eventually(async () => {
      const { provider, counters } = await readStatus(asked);
      expect(counters.lifetime).toMatchObject({ stamps: 0, failed: 0 });
      return Object.entries(expected).every(([name, value]) => Object.entries(provider).some(([key, is]) => key === name && is === value));
    });
  const pages = () => Promise.all(['/', '/status'].map(async (path) => (await asked.fetch(path)).text()));

  await showsProvider({ status: 'degraded', is_qualified: false, qualification: 'not_asked', last_success_at: null });
  expect((await getJson(asked, '/health/')).body).toMatchObject({ status: 'degraded', checks: { provider: 'failing' } });
  for (const html of await pages()) expect(html).toContain('Not asked yet');
  tsa.server.failAlways(undefined);
  await showsProvider({ status: 'operational', is_qualified: true, qualification: 'qualified' });
  for (const html of await pages()) expect(html).not.toContain('Not asked yet');
  expect((await pages())[1]).toContain('mark-qualified');
  const lines = (asked.workers[0]?.output() ?? '').trimEnd().split('\n');
  const said = lines.map((line) => JSON.parse(line)).filter(({ provider, verdict }) => provider === 'tsa-1' && verdict);
  const isText = (pattern: RegExp) => expect.stringMatching(pattern);
  expect(said).toMatchObject([
    { level: 'warn', verdict: 'failed', fault: isText(/^signature_invalid: /), certificate: null },
    {
      level: 'info',
      verdict: 'ok',
      fault: null,
      policy: isText(/^2\./),
      certificate: { subject: isText(/CN=/), validUntil: isText(/Z$/) },
    },
  ]);
});

describe('GET /status', () => {
  test('is a page with the figures of the JSON', async () => {
    const page = await service.fetch('/status');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const html = await page.text();
    expect(html).toContain('Everything works.');
    expect(html).toContain('its stamps prove nothing to a third party');
    const [since = ''] = /(?<=Since <time datetime=")[^"]+/.exec(html) ?? [];
    const { time, uptime_seconds } = await readStatus();
    const startedAtMs = Date.parse(time) - uptime_seconds * 1000;
    expect(Date.parse(since)).toBeGreaterThan(startedAtMs - 2_000);
    expect(Date.parse(since)).toBeLessThanOrEqual(Date.parse(time));
    expect(html).toContain('href="/api/v1/status"');
  });

  test('allows 30 requests a minute from one address, then 429 (R1, E7); the JSON is not limited', async () => {
    const limited = await limitedService();
    const init = { headers: freshAddress() };
    const answers = await Promise.all(Array.from({ length: 33 }, () => limited.fetch('/status', init)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(30);
    const waits = answers.filter(({ status }) => status === 429).map(({ headers }) => headers.get('retry-after'));
    expect(waits).toEqual(Array(3).fill(expect.stringMatching(/^\d+$/)));
    expect((await limited.fetch('/api/v1/status', init)).status).toBe(200);
  });
});

describe('GET /', () => {
  test('explains the service and its links, with a command for the requested address', async () => {
    const page = await service.fetch('/');
    expect(page.status).toBe(200);
    const html = await page.text();
    expect(html).toContain(`curl ${service.url}/api/v1/agent/v1/stamp/basic`);
    for (const address of ['/docs', '/openapi.json', '/api/v1/agent/pricing', '/status']) expect(html).toContain(`href="${address}"`);
  });
});

describe('GET /api/v1/agent/pricing (decisions, Public JSON)', () => {
  test('is the price list, cacheable for five minutes', async () => {
    const { status, headers, body } = await getJson(service, '/api/v1/agent/pricing');
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('public, max-age=300');
    const price = { amount: '0.00', currency: 'EUR' };
    const tier = (name: string, max_content_bytes: number) => {
      const path = `/api/v1/agent/v1/stamp/${name}`;
      return { tier: name, method: 'POST', path, price, max_content_bytes };
    };
    expect(body).toEqual({
      version: '0.3.0',
      currency: 'EUR',
      payment_required: false,
      payment_header: 'x-payment-transaction',
      tiers: [tier('basic', 0), tier('plus', 0), tier('sealed', 10_485_760)],
      free: expect.arrayContaining(['POST /api/v1/verify/v1/raw']),
      updated_at: expect.stringMatching(/Z$/),
    });
  });

  test('gives 304 without a body for a matching entity tag: weak, in a list, or *', async () => {
    const etag = (await service.fetch('/api/v1/agent/pricing')).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]+"$/);
    for (const given of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await service.fetch('/api/v1/agent/pricing', { headers: { 'if-none-match': given } });
      expect(answer.status, given).toBe(304);
      expect(answer.headers.get('etag')).toBe(etag);
      expect(await answer.text()).toBe('');
    }
    const other = await service.fetch('/api/v1/agent/pricing', { headers: { 'if-none-match': '"other"' } });
    expect(other.status).toBe(200);
  });

  test('the entity tag is the same for all services with the same prices, and differs for others', async () => {
    const etagOf = async (one: RunningService) => (await one.fetch('/api/v1/agent/pricing')).headers.get('etag');
    const etag = await etagOf(service);
    expect(await etagOf(await limitedService())).toBe(etag);
    // It seals less content.
    expect(await etagOf(await sharedService())).not.toBe(etag);
  });
});
