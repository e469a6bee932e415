import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { failuresIn, logLines } from '../../support/log-lines.ts';
import { startMailServer } from '../../support/mail.ts';
import { callTool, rpc } from '../../support/mcp.ts';
import { scrape, seriesOf, seriesValue } from '../../support/metrics.ts';
import { eventually, internalHeaders, type JsonAnswer, randomHash, stampInternal } from '../../support/requests.ts';
import { ownProduct, type Service, startService } from '../../support/service.ts';
import { createFault } from '../../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';
import { openLink, type StartedWorkflow, startRequest, startWorkflow } from '../../support/workflows.ts';

const json = { 'content-type': 'application/json' };

type Case = readonly [path: string, init: RequestInit, status: number, code: string, fields?: readonly string[]];

const post = (body?: string, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { ...(body === undefined ? {} : json), ...headers },
  ...(body === undefined ? {} : { body }),
});

/** Each shows one refusal; `workflow` is confirmed, and of a tier that cannot be served. */
function refusals({ id, headers }: StartedWorkflow): readonly Case[] {
  const asBrowser = { headers: { accept: 'application/xhtml+xml' } };
  const stamp = '/api/v1/internal/v1/stamp';
  const link = `/api/v1/workflow/${id}/verify-user?challenge=${'a'.repeat(43)}`;
  const bad = JSON.stringify({ hash: 'abc', metadata: { 'a name of the caller': 1 } });
  const faults = ['body.hash string_too_short', 'body.metadata string_type'];
  const used = { ...internalHeaders, 'idempotency-key': 'used' };
  return [
    [stamp, post(bad, internalHeaders), 422, 'validation_failed', faults],
    [stamp, post('{', internalHeaders), 422, 'validation_failed'],
    [stamp, post('{}', { 'x-service-token': 'wrong' }), 401, 'unauthorized'],
    [`/api/v1/workflow/${id}/stamp`, post('{}', { authorization: 'Workflow wrong' }), 401, 'unauthorized'],
    ['/nothing/here', {}, 404, 'not_found'],
    ['/workflow/01a200f2-0f4b-734d-866a-e67e7c47f5d8', asBrowser, 404, 'not_found'],
    ['/health/', { method: 'DELETE' }, 405, 'method_not_allowed'],
    [stamp, post(JSON.stringify({ hash: randomHash() }), used), 409, 'idempotency_key_reused'],
    [`/api/v1/workflow/${id}/resend`, post(undefined, headers), 409, 'conflict'],
    [link, asBrowser, 410, 'gone'],
    ['/api/v1/verify/v1/raw', post('x', { 'content-encoding': 'gzip' }), 415, 'unsupported_media_type'],
    ['/status', {}, 429, 'rate_limited'],
    [`/api/v1/workflow/${id}/complete`, post(undefined, headers), 502, 'tier_unavailable'],
    [link, { headers: { 'sec-purpose': 'prefetch' } }, 503, 'prefetch_refused'],
    ['/mcp', post(JSON.stringify(rpc('tools/call', { name: 'x' }))), 401, 'unauthorized'],
    ['/mcp', post(JSON.stringify(rpc('no/such'))), 200, 'method_not_found'],
    ['/mcp', post('{'), 200, 'parse_error'],
  ];
}

/** The line of the API's log about the request with this id. */
const lineOf = (service: Service, requestId: string) =>
  eventually(async () => logLines(service).find((line) => line.requestId === requestId && 'durationMs' in line));

/** Sends a request; returns its status and its log line. */
async function tell(service: Service, path: string, init: RequestInit, requestId: string) {
  const answer = await service.fetch(path, {
    ...init,
    headers: { ...(init.headers as Record<string, string>), 'x-request-id': requestId },
  });
  await answer.text();
  const { level, outcome, msg, status, code, fields, err } = await lineOf(service, requestId);
  return { answered: answer.status, line: { level, outcome, msg, status, code, fields, err } };
}

/** Sends a request that can be found in the log, and expects this status. */
async function failing(service: Service, expected: number, ask: (headers: Record<string, string>) => Promise<JsonAnswer>) {
  const requestId = `failing-${randomHash().slice(0, 8)}`;
  expect((await ask({ 'x-request-id': requestId })).status).toBe(expected);
  return lineOf(service, requestId);
}

describe('refusals and failures are separate', () => {
  test('refusals of every kind: level info with a code, counted separately; no log line, counter or alert shows a failure', async () => {
    const [mail, tsa] = await Promise.all([startMailServer(), startTsa()]);
    const settings = { ...providersSettings([{ tsa }]), SMTP_URL: mail.url, METRICS_PORT: '0', RATE_STATUS_PER_MINUTE: '1' };
    const service = await startService({ settings });
    const workflow = await startWorkflow(service, { tier: 'qualified' });
    await openLink(await mail.linkFor(workflow.id));
    await stampInternal(service, { hash: randomHash() }, { 'idempotency-key': 'used' });
    await service.fetch('/status');

    const counted: Record<string, number> = {};
    for (const [index, [path, init, status, code, fields]] of refusals(workflow).entries()) {
      const { answered, line } = await tell(service, path, init, `refusal-${index}`);
      expect([path, answered]).toEqual([path, status]);
      expect(line).toMatchObject({ level: 'info', outcome: 'refused', msg: 'refused', status, code, ...(fields && { fields }) });
      counted[`qstamp_refusals_total{code="${code}"}`] = (counted[`qstamp_refusals_total{code="${code}"}`] ?? 0) + 1;
    }
    await callTool(service, 'service_stamp_hash', { sha256_hex: 'abc' });
    counted['qstamp_refusals_total{code="validation_failed"}']! += 1;

    // Not a request at all: an unreadable head.
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.write('no HTTP at all\r\n\r\n');
    expect(await text(socket)).toContain(' 400 ');
    expect(logLines(service).find(({ fault }) => String(fault).startsWith('HPE_'))).toMatchObject({ level: 'info', outcome: 'refused' });

    const series = await eventually(async () => {
      const told = seriesOf(await scrape(service), 'qstamp_refusals_total', 'qstamp_failures_total');
      return JSON.stringify(Object.entries(told).sort()) === JSON.stringify(Object.entries(counted).sort()) && told;
    }).catch(async () => seriesOf(await scrape(service), 'qstamp_refusals_total', 'qstamp_failures_total'));
    expect(series).toEqual(counted);
    const everything = [await scrape(service), ...(await Promise.all(service.workers.map(scrape)))].join('\n');
    expect(everything).not.toMatch(/^qstamp_\S*outcome="(failed|deferred)"/m);
    expect(everything).not.toMatch(/^qstamp_(failures|job_failures)_total\{/m);
    expect(everything).toMatch(/^qstamp_http_request_duration_seconds_count\{[^}]*status="502",outcome="refused"\} 1$/m);
    for (const part of [service, ...service.workers]) expect(failuresIn(part)).toEqual([]);
  });

  test('provider and mail server down: level warn with the cause, in API and worker, counted as failures', async () => {
    const tsa = await startTsa();
    const settings = { ...providersSettings([{ tsa }]), SMTP_URL: 'smtp://127.0.0.1:1?plain', METRICS_PORT: '0' };
    const service = await startService({ settings });
    const worker = service.workers[0]!;
    tsa.server.failAlways(createFault('status:503'));

    const line = await failing(service, 502, (headers) => stampInternal(service, { hash: randomHash() }, headers));
    expect(line).toMatchObject({ level: 'warn', outcome: 'failed', msg: 'failed', status: 502, code: 'provider_failed', err: {} });
    expect(failuresIn(worker)).toEqual(
      expect.arrayContaining([
        ['warn', 'failed', undefined, 'provider tsa-1 failed'],
        ['warn', 'failed', 'provider_failed', 'no provider made the stamp'],
        ['warn', 'failed', undefined, 'finished a stamp job'],
      ]),
    );

    await startWorkflow(service);
    const told = await eventually(async () => {
      const scraped = await scrape(worker);
      return seriesValue(scraped, 'qstamp_job_failures_total{job="otp-mail"}') !== undefined && scraped;
    });
    expect(failuresIn(worker)).toContainEqual(['warn', 'failed', undefined, 'a job failed']);
    expect(seriesValue(told, 'qstamp_mails_total{outcome="deferred"}')).toBeGreaterThan(0);
    expect(seriesValue(told, 'qstamp_stamp_duration_seconds_count{provider="tsa-1",outcome="failed"}')).toBeGreaterThan(0);
    expect(told).not.toMatch(/outcome="refused"/);
    expect(seriesOf(await scrape(service), 'qstamp_refusals_total', 'qstamp_failures_total')).toEqual({
      'qstamp_failures_total{code="provider_failed"}': 1,
    });
  });

  test('no mail server and a full queue are refusals; a stamp that is not finished in time is a failure', async () => {
    const service = await startService({ settings: { METRICS_PORT: '0', QUEUE_MAX_DEPTH: '1', STAMP_WAIT_MS: '300' } });
    const start = post(JSON.stringify(startRequest({ tier: 'verified' })));
    const unsent = await eventually(async () => {
      const told = await tell(service, '/api/v1/workflow/start', start, `start-${randomHash().slice(0, 8)}`);
      return told.answered === 503 && told;
    });
    expect(unsent.line).toMatchObject({ level: 'info', outcome: 'refused', code: 'mail_unavailable' });

    await service.workers[0]!.stop();
    const pending = await failing(service, 504, (headers) => stampInternal(service, { hash: randomHash() }, headers));
    expect(pending).toMatchObject({ level: 'warn', outcome: 'failed', status: 504, code: 'stamp_pending' });
    const full = await eventually(async () => {
      const asked = post(JSON.stringify({ hash: randomHash() }), ownProduct().headers);
      const told = await tell(service, '/api/v1/internal/v1/stamp', asked, `full-${randomHash().slice(0, 8)}`);
      return told.answered === 503 && told;
    });
    expect(full.line).toMatchObject({ level: 'info', outcome: 'refused', status: 503, code: 'overloaded', err: undefined });
  });
});
