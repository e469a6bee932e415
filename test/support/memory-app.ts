import type { FastifyInstance } from 'fastify';
import { buildApp } from '../../src/api/app.ts';
import { createServices, type ServicePorts } from '../../src/api/services.ts';
import { createReplyLookup, createReplyWaiter } from '../../src/api/stamps/reply-waiter.ts';
import { openStampJudge } from '../../src/api/verification/stamp-judge.ts';
import type { Acceptance } from '../../src/shared/queue/open-queue.ts';
import { type StampItem, stampedReplyOf } from '../../src/shared/queue/stamp-job.ts';
import { systemClock } from '../../src/shared/runtime/clock.ts';
import { loadConfig } from '../../src/shared/runtime/config.ts';
import { createLogger } from '../../src/shared/runtime/log.ts';
import { loadTrustSettings } from '../../src/shared/trust/trusted-providers.ts';
import { createMockProvider } from '../../src/workers/providers/mock.ts';
import { createMemoryStore } from './memory-store.ts';
import { type Settings, serviceToken, testMasterKey } from './service.ts';

export const memorySettings: Settings = {
  NODE_ENV: 'test',
  REDIS_URL: 'redis://memory.invalid',
  MONGODB_URL: 'mongodb://memory.invalid',
  MASTER_KEY: testMasterKey,
  SERVICE_TOKENS: `test:${serviceToken}`,
  LOG_LEVEL: 'warn',
};

/**
 * The app of the API with its real services, a store in memory and a queue whose worker is the mock provider in this process.
 * It opens no socket and has no limits. `log` gets its log lines from level warn.
 */
export async function buildMemoryApp(
  options: { settings?: Settings; log?: string[]; store?: ServicePorts['store'] } = {},
): Promise<FastifyInstance> {
  const lines = options.log ?? [];
  const config = loadConfig({ ...memorySettings, ...options.settings });
  const log = createLogger({ level: config.LOG_LEVEL, process: 'api', destination: { write: (line) => void lines.push(line) } });
  const clock = systemClock;
  const store = options.store ?? createMemoryStore();
  const trust = loadTrustSettings(config);
  const stampJudge = openStampJudge({ trust, store, clock, log });
  const findStored = createReplyLookup({ ...store, stampJudge });
  const waiter = createReplyWaiter({ waitMs: config.STAMP_WAIT_MS, findStored, log });
  const provider = createMockProvider({ key: () => store.keys.secret('mock-provider'), clock });

  async function stamp({ output, acceptedAt, asked: _, ...item }: StampItem): Promise<Acceptance> {
    const proof = await provider.stamp({ ...item, requiresQualified: false });
    const stamped = { ...item, proofs: [proof] as const, acceptedAt: new Date(acceptedAt) };
    await store.stamps.insertOnce([stamped]);
    waiter.settle({ ...stampedReplyOf(stamped), ...(output && { output: { outputId: output.outputId, sequenceNumber: 1 } }) });
    return 'acknowledged';
  }
  const { name, isQualified } = provider;
  const health = { name, isQualified, status: 'operational', lastSuccessAt: null, p50: null, p95: null } as const;
  const ports: ServicePorts = {
    config,
    store,
    queue: {
      checkCapacity: () => undefined,
      accept: (items) => items.map(stamp),
      close: async () => undefined,
    },
    jobs: { checkConnection: () => undefined, send: async () => 'acknowledged', close: async () => undefined },
    waiter,
    writes: { refusing: () => ({ redis: false, mongodb: false }), checkStore: () => undefined },
    pingRedis: async () => 'PONG',
    readHeartbeats: async (nowMs) => [{ at: nowMs, providers: [health], mail: 'ok', isStoreFull: false }],
    readDurability: async () => 'every_write',
    readQueueState: async () => ({ waiting: 0, oldestAt: null, failedJobs: 0 }),
    trust,
    stampJudge,
    clock,
    log,
  };
  const unlimited = Object.assign(async () => undefined, { items: async () => undefined });
  const limits = { by: () => unlimited, mistakes: () => ({ count: async () => undefined, check: () => undefined }) };
  return buildApp({
    config,
    log,
    services: createServices(ports),
    limits,
    metrics: { answered: () => undefined, faulted: () => undefined },
  });
}
