import { randomUUID } from 'node:crypto';
import { systemClock } from '../shared/clock.ts';
import { runProcess } from '../shared/lifecycle.ts';
import { withHealthRecord } from '../shared/providers/health.ts';
import { createMockProvider } from '../shared/providers/mock.ts';
import { connectWorker, disconnect } from '../shared/queue/connection.ts';
import { consumeJobs, scheduleSweep } from '../shared/queue/consumer.ts';
import { startHeartbeat } from '../shared/queue/heartbeat.ts';
import { sendReplies } from '../shared/queue/replies.ts';
import { openStore } from '../shared/store/store.ts';
import { createProcessors } from './registry.ts';

const sweepEveryMs = 3_600_000;

await runProcess('worker', process.env, async ({ config, log, lifecycle }) => {
  const store = openStore(config.MONGODB_URL, log);
  lifecycle.onClose('store', () => store.close());
  void store.ensureIndexes();
  const redis = connectWorker(config.REDIS_URL, log);
  lifecycle.onClose('redis', () => disconnect(redis));

  const mock = createMockProvider({ key: () => store.keys.secret('mock-provider'), clock: systemClock });
  const { provider, record } = withHealthRecord(mock, systemClock);
  const processors = createProcessors({
    provider,
    ...store,
    sendReplies: (replyTo, replies) => sendReplies(redis, replyTo, replies),
    clock: systemClock,
    log,
  });
  const consumer = consumeJobs({ redis, processors, concurrency: config.WORKER_CONCURRENCY, log });
  lifecycle.onClose('consumer', () => consumer.close());
  const heartbeat = startHeartbeat({
    redis,
    workerId: randomUUID(),
    clock: systemClock,
    log,
    describe: () => [record.read()],
  });
  lifecycle.onClose('heartbeat', () => heartbeat.stop());
  await scheduleSweep(redis, sweepEveryMs);
  return {};
});
