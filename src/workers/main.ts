import { consumeJobs } from '../shared/queue/consumer.ts';
import { scheduleJob, watchOversleepers } from '../shared/queue/schedules.ts';
import { checkUser } from '../shared/redis/connection.ts';
import { startHeartbeat } from '../shared/redis/heartbeat.ts';
import { type Config, ConfigError, loadConfig } from '../shared/runtime/config.ts';
import { type ProcessContext, runProcess } from '../shared/runtime/lifecycle.ts';
import { serveMetrics } from '../shared/runtime/metrics.ts';
import { untilDone, within } from '../shared/runtime/timers.ts';
import { usesTrustedLists } from '../shared/trust/list-sources.ts';
import { createProcessors, schedulesOf } from './registry.ts';
import { tellFailed } from './stamping/index.ts';
import { openWorkerTools } from './tools.ts';

/** The pause before Redis is tried again, in milliseconds. */
const retryMs = 1_000;
const answerMs = 5_000;

/** Opens everything that a worker process needs, and starts to take jobs. `lifecycle` closes everything again when the process ends. */
export async function openWorker(context: ProcessContext<Config>): Promise<{ url?: string }> {
  const { config, log, lifecycle } = context;
  const closing = new AbortController();
  lifecycle.onClose('start', () => closing.abort());
  const { redis, tools } = await openWorkerTools(context);
  const { store, stampInserts, mail, metrics, clock, readHealth } = tools;
  await untilDone(retryMs, () => within(answerMs, () => checkUser(redis)), {
    signal: closing.signal,
    onFailed: (error) => {
      if (error instanceof ConfigError) throw error;
      log.warn({ err: error }, 'Redis cannot be used yet; trying again');
    },
  });
  if (closing.signal.aborted) return {};

  const consumer = consumeJobs({
    redis,
    processors: createProcessors(tools),
    concurrency: config.WORKER_CONCURRENCY,
    log,
    onFailed: metrics.jobFailed,
    onGivenUp: (job) => tellFailed(tools, job),
  });
  lifecycle.onClose('consumer', () => consumer.close());

  const heartbeat = startHeartbeat({ redis, clock, log, readHealth, readMailState: mail.readState, isStoreFull: stampInserts.isFull });
  lifecycle.onClose('heartbeat', () => heartbeat.stop());
  stampInserts.onChange(heartbeat.beat);

  const readLists = usesTrustedLists(config) ? store.trustedLists.readInForce : undefined;
  await serveMetrics(context, metrics, { readHealth, readLists });

  const schedules = schedulesOf(config);
  for (const schedule of schedules) await scheduleJob(redis, schedule, log);
  const oversleepers = watchOversleepers({ redis, schedules, log });
  lifecycle.onClose('oversleepers', oversleepers.stop);
  return {};
}

if (import.meta.main) await runProcess('worker', () => loadConfig(process.env), openWorker);
