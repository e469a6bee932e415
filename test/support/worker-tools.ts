import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { OutputOrder } from '../../src/shared/queue/output-order.ts';
import { loadConfig } from '../../src/shared/runtime/config.ts';
import { createMetrics } from '../../src/shared/runtime/metrics.ts';
import { openStore, type Store } from '../../src/shared/store/store.ts';
import { noLists } from '../../src/shared/store/trusted-lists.ts';
import { createTokenJudge } from '../../src/shared/trust/judge.ts';
import { loadListSources } from '../../src/shared/trust/list-sources.ts';
import { loadTrustSettings } from '../../src/shared/trust/trusted-providers.ts';
import { createMockProvider } from '../../src/workers/providers/open-provider.ts';
import { createStampInserts } from '../../src/workers/stamp-inserts.ts';
import type { WorkerTools } from '../../src/workers/tools.ts';
import { freshStore } from './servers.ts';

const settings = {
  REDIS_URL: 'redis://unused.invalid',
  MONGODB_URL: 'mongodb://unused.invalid',
  MASTER_KEY: Buffer.alloc(32).toString('base64'),
  MAIL_FROM: 'qstamp <no-reply@qstamp.example>',
};

/** A queue that accepts everything and has no other jobs. */
const queue = {
  jobs: {
    checkConnection: () => undefined,
    checkWrite: async () => undefined,
    replicas: () => 0,
    send: async () => 'acknowledged',
    close: async () => undefined,
  },
  failedJobs: {
    list: async function* () {},
    find: async () => undefined,
    retry: async () => undefined,
    drop: async () => undefined,
    close: async () => undefined,
  },
  outputOrder: {
    readTurn: async (_workflowId, jobIds) => ({ ready: [...jobIds], blockedBy: undefined }),
    hasEarlier: async () => false,
    leave: async () => undefined,
  } satisfies OutputOrder,
  handOver: async () => undefined,
  sendReplies: async () => undefined,
  completionStream: 'replies',
  readContentsUnderWay: async () => new Set<string>(),
} satisfies Partial<WorkerTools>;

/** A store on an empty database, until the test ends. */
export function openTestStore(): Store {
  const store = openStore(freshStore(), pino({ level: 'silent' }));
  onTestFinished(() => store.close());
  return store;
}

/** The tools of a worker: the real modules with the mock provider and a quiet queue, and those that the test replaces. */
export function workerTools(replaced: Partial<WorkerTools> = {}): WorkerTools {
  const { clock = Date.now, store = openTestStore() } = replaced;
  const config = loadConfig(settings);
  const trust = loadTrustSettings(config);
  const mockKey = () => store.keys.secret('mock-provider');
  return {
    ...queue,
    config,
    trust,
    listSources: loadListSources(config),
    store,
    provider: createMockProvider({ key: mockKey, clock }),
    readHealth: () => [],
    tokenJudge: createTokenJudge({ trust, lists: noLists.current, mockKey, clock }),
    stampInserts: createStampInserts(store.stamps),
    mail: { send: async () => undefined, readState: () => 'unknown' },
    metrics: createMetrics({ clock }),
    clock,
    monotonic: () => performance.now(),
    log: pino({ level: 'silent' }),
    ...replaced,
  };
}
