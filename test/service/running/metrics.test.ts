import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { metricsUrl, scrape, seriesValue } from '../../support/metrics.ts';
import { eventually, randomHash, stampAgent, verifyById } from '../../support/requests.ts';
import { startPrivateRedis } from '../../support/servers.ts';
import { type Part, type Service, startPart, startService, testSettings } from '../../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ keep: true, settings: { METRICS_PORT: '0', RATE_STATUS_PER_MINUTE: '2' } });
});
afterAll(() => service.stop());

const worker = (): Part => service.workers[0]!;

/** The alerts of a file of Prometheus rules. */
const alertsIn = (text: string) =>
  (parse(text) as { groups: { rules: { alert: string; expr: string }[] }[] }).groups.flatMap(({ rules }) => rules);

describe('/metrics', () => {
  test('is in the text format of Prometheus; API and workers each have a port', async () => {
    for (const process of [service, worker()]) {
      const answer = await fetch(metricsUrl(process));
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
      expect(await answer.text()).toContain('process_cpu_user_seconds_total');
      expect((await fetch(metricsUrl(process).replace('/metrics', '/'))).status).toBe(404);
    }
    expect((await service.fetch('/metrics')).status).toBe(404);
  });

  test('the API counts requests by route and status, never by address, and counts rate-limit refusals', async () => {
    const { body } = await stampAgent(service, 'basic', { hash: randomHash() });
    await verifyById(service, body.token_id);
    for (let request = 0; request < 3; request += 1) await service.fetch('/status');
    const text = await eventually(async () => {
      const scraped = await scrape(service);
      return seriesValue(scraped, 'qstamp_rate_limited_total{limit="status"}') === 1 && scraped;
    });
    const count = (labels: string) => seriesValue(text, `qstamp_http_request_duration_seconds_count{${labels}}`);
    expect(count('method="POST",route="/api/v1/agent/v1/stamp/basic",status="201",outcome="done"')).toBe(1);
    expect(count('method="GET",route="/api/v1/verify/v1/token/:token_id",status="200",outcome="done"')).toBe(1);
    expect(count('method="GET",route="/status",status="429",outcome="refused"')).toBe(1);
    expect(text).not.toContain(String(body.token_id));
  });

  test('workers measure stamps by provider and outcome, and report the state of each provider', async () => {
    await stampAgent(service, 'basic', { hash: randomHash() });
    const text = await scrape(worker());
    expect(seriesValue(text, 'qstamp_stamp_duration_seconds_count{provider="mock",outcome="stamped"}')).toBeGreaterThan(0);
    expect(seriesValue(text, 'qstamp_provider_state{provider="mock",state="operational"}')).toBe(1);
    expect(seriesValue(text, 'qstamp_provider_state{provider="mock",state="outage"}')).toBe(0);
  });

  test('the API reports waiting stamps, their age and given-up jobs; while Redis is away NaN, and the scrape does not hang', async () => {
    const redis = await startPrivateRedis();
    onTestFinished(redis.dispose);
    const waiting = await startService({ workers: 0, settings: { METRICS_PORT: '0', REDIS_URL: redis.url, STAMP_WAIT_MS: '200' } });
    await stampAgent(waiting, 'basic', { hash: randomHash() });
    const text = await scrape(waiting);
    expect([seriesValue(text, 'qstamp_queue_depth'), seriesValue(text, 'qstamp_failed_jobs')]).toEqual([1, 0]);
    expect(seriesValue(text, 'qstamp_queue_oldest_age_seconds')).toBeGreaterThan(0);
    expect(await scrape(worker())).not.toMatch(/^qstamp_(queue_|failed_jobs)/m);
    await redis.stop();
    const stopped = await scrape(waiting);
    expect([seriesValue(stopped, 'qstamp_queue_depth'), seriesValue(stopped, 'qstamp_failed_jobs')]).toEqual([Number.NaN, Number.NaN]);
  });

  test('the metrics in dashboard, alerts and documents are exactly those that the processes serve', async () => {
    const read = (path: string) => readFile(new URL(`../../../${path}`, import.meta.url), 'utf8');
    const namesIn = (text: string, among = /\b(?:qstamp|process|nodejs)_\w+/g) =>
      [...text.matchAll(among)].map(([name]) => name.replace(/_(bucket|count|sum)$/, ''));
    const { panels } = JSON.parse(await read('deploy/grafana-dashboard.json')) as { panels: { targets: { expr: string }[] }[] };
    const shown = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => namesIn(expr)));
    const documented = namesIn(await read('docs/operators/run.md'), /\bqstamp_\w+/g);
    const watched = alertsIn(await read('deploy/prometheus-rules.yml')).flatMap(({ expr }) => namesIn(expr));
    expect([shown.length >= panels.length, watched.length > 0]).toEqual([true, true]);
    const served = new Set([...`${await scrape(service)}\n${await scrape(worker())}`.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
    expect([...shown, ...documented, ...watched].filter((name) => !served.has(name))).toEqual([]);
    expect([...served].filter((name = '') => name.startsWith('qstamp_') && !documented.includes(name))).toEqual([]);
  });

  test('no alert uses refusals, or a status that refusals and failures share', async () => {
    const alerts = alertsIn(await readFile(new URL('../../../deploy/prometheus-rules.yml', import.meta.url), 'utf8'));
    expect(alerts.map(({ alert }) => alert)).toContain('QstampRequestsFail');
    for (const { alert, expr } of alerts) {
      expect(expr, alert).not.toMatch(/qstamp_refusals_total|qstamp_rate_limited_total|refused|status|qstamp_http_request/);
      if (/qstamp_(stamp_duration|mails)/.test(expr)) expect(expr, alert).toMatch(/outcome="(failed|deferred)"/);
    }
  });

  test('a port in use is one line that names the setting', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await eventually(async () => other.listening);
    const { port } = other.address() as AddressInfo;
    const settings = await testSettings({ METRICS_PORT: String(port) });
    await expect(startPart('api', settings)).rejects.toThrow(`METRICS_PORT: got "${port}"; the service cannot listen on it`);
  });
});
