import { expect, test } from 'vitest';
import { createHealthService } from '../../../src/api/status/index.ts';
import type { ApiTools } from '../../../src/api/tools.ts';
import type { Heartbeat, ProviderHealth } from '../../../src/shared/redis/heartbeat.ts';

const at = '2026-11-21T12:00:00.000Z';
const provider = (status: ProviderHealth['status'], lastSuccessAt: string | null): ProviderHealth => ({
  name: 'acme',
  isQualified: true,
  mayBeQualified: true,
  status,
  lastSuccessAt,
  p50: null,
  p95: null,
});

async function checkWith(workers: readonly Omit<Heartbeat, 'at'>[]) {
  const health = createHealthService({
    clock: () => 0,
    pingRedis: async () => undefined,
    store: { ping: async () => undefined },
    writes: { refusing: () => ({ redis: false, mongodb: false }) },
    readHeartbeats: async () => workers.map((worker) => ({ at: 0, ...worker })),
  } as unknown as ApiTools);
  const { status, checks } = await health.check();
  return [status, checks.provider, checks.mail];
}

test.each<[string, ProviderHealth[], string, string]>([
  ['never answered and never failed', [provider('operational', null)], 'degraded', 'unknown'],
  ['answered', [provider('operational', at)], 'ok', 'ok'],
  ['never answered, and failed', [provider('degraded', null)], 'degraded', 'failing'],
  ['is out, another one answered', [provider('outage', at), provider('operational', at)], 'ok', 'ok'],
  ['is out', [provider('outage', at)], 'degraded', 'failing'],
])('health shows a provider that %s (V9)', async (_, providers, status, check) => {
  expect(await checkWith([{ providers, mail: 'ok', isStoreFull: false }])).toEqual([status, check, 'ok']);
});

test.each<[Heartbeat['mail'], string]>([
  ['failing', 'degraded'],
  ['not_configured', 'ok'],
  ['unknown', 'ok'],
])('health includes mail: %s is %s', async (mail, status) => {
  expect(await checkWith([{ providers: [provider('operational', at)], mail, isStoreFull: false }])).toEqual([status, 'ok', mail]);
});

test('without a worker the state of providers and mail is unknown', async () => {
  expect(await checkWith([])).toEqual(['degraded', 'unknown', 'unknown']);
});
