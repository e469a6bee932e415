import type { FastifyInstance } from 'fastify';
import { checkWrite, connectProducer, disconnect, untilReady } from '../shared/queue/connection.ts';
import { readDurability, watchDurability } from '../shared/queue/durability.ts';
import { readHeartbeats } from '../shared/queue/heartbeat.ts';
import { watchQueue } from '../shared/queue/queue-state.ts';
import { createJobSender } from '../shared/queue/sender.ts';
import { systemClock } from '../shared/runtime/clock.ts';
import { type Config, ConfigError } from '../shared/runtime/config.ts';
import { type ProcessContext, runProcess } from '../shared/runtime/lifecycle.ts';
import { createMetrics, serveMetrics } from '../shared/runtime/metrics.ts';
import { noLists, watchLists } from '../shared/store/lists-in-force.ts';
import { openStore } from '../shared/store/store.ts';
import { usesTrustedLists } from '../shared/trust/list-sources.ts';
import { loadTrustSettings } from '../shared/trust/trusted-providers.ts';
import { buildApp } from './app.ts';
import { createRateLimits } from './server/rate-limits.ts';
import { watchWrites } from './server/write-watch.ts';
import { createServices } from './services.ts';
import { createReplyLookup, openSubmission } from './stamps/index.ts';
import { openStampJudge } from './verification/index.ts';

/** Listens and returns the URL. @throws ConfigError if `HOST` or `PORT` cannot be used */
async function listen(app: FastifyInstance, { HOST: host, PORT: port }: Config): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE')
      throw new ConfigError(`PORT: got "${port}", but another process listens on it; set a free port, or 0 for any`);
    if (code === 'EACCES') throw new ConfigError(`PORT: got "${port}", but this user may not listen on it; set a free port, or 0 for any`);
    if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL') throw new ConfigError(`HOST: got "${host}"; set an address of this machine`);
    throw error;
  }
}

/** Opens everything that an API process needs, and listens. `lifecycle` closes everything again when the process ends. */
export async function openApi({ config, log, lifecycle }: ProcessContext<Config>): Promise<{ url: string }> {
  const clock = systemClock;
  const trust = loadTrustSettings(config);

  const store = openStore(config, log);
  lifecycle.onClose('store', () => store.close());
  await store.openKeys();
  const redis = connectProducer(config.REDIS_URL, log);
  lifecycle.onClose('redis', () => disconnect(redis));
  watchDurability(redis, log);
  const queueWatch = watchQueue({ redis, log });
  lifecycle.onClose('queue watch', () => queueWatch.stop());

  const lists = usesTrustedLists(config) ? await watchLists(store.trustedLists, log) : noLists;
  lifecycle.onClose('trusted lists', () => lists.stop());
  const stampJudge = openStampJudge({ trust, lists, store, clock, log });
  const jobs = createJobSender({ redis, log });
  lifecycle.onClose('jobs', () => jobs.close());
  const submission = openSubmission({
    redisUrl: config.REDIS_URL,
    jobs,
    watch: queueWatch,
    findStamps: createReplyLookup({ ...store, stampJudge }),
    findCompleted: store.workflows.findCompleted,
    maxDepth: config.QUEUE_MAX_DEPTH,
    log,
  });
  lifecycle.onClose('submission', () => submission.close());

  const writeStore = async () => {
    const [heartbeats] = await Promise.all([readHeartbeats(redis, clock()).catch(() => []), store.checkWrite()]);
    if (heartbeats.some(({ isStoreFull }) => isStoreFull)) throw new Error('a worker has no space for stamps');
  };
  const writes = watchWrites({
    redis: { ping: () => redis.ping(), write: () => checkWrite(redis) },
    mongodb: { ping: store.ping, write: writeStore },
    log,
  });
  lifecycle.onClose('writes', () => writes.stop());

  const metrics = createMetrics({ clock });
  if (config.METRICS_PORT !== undefined) {
    const served = await serveMetrics({ metrics, host: config.HOST, port: config.METRICS_PORT, readQueueState: queueWatch.read });
    lifecycle.onClose('metrics', served.close);
    log.info({ metricsUrl: served.url }, 'metrics are served');
  }

  const services = createServices({
    config,
    store,
    submission,
    jobs,
    writes,
    pingRedis: () => redis.ping(),
    readHeartbeats: (nowMs) => readHeartbeats(redis, nowMs),
    readQueueState: queueWatch.read,
    readDurability: () => readDurability(redis),
    trust,
    stampJudge,
    clock,
    log,
  });
  const limits = createRateLimits({ redis, onLimited: metrics.rateLimited });
  const app = await buildApp({ config, log, services, limits, metrics });
  lifecycle.onClose('http', () => app.close());
  await untilReady(redis);
  return { url: await listen(app, config) };
}

if (import.meta.main) await runProcess('api', process.env, openApi);
