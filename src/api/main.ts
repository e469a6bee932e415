import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { connectBlockingReader, connectProducer, disconnect, untilReady } from '../shared/queue/connection.ts';
import { readQueueState } from '../shared/queue/depth.ts';
import { readHeartbeats } from '../shared/queue/heartbeat.ts';
import { createJobSender } from '../shared/queue/job-sender.ts';
import { readReplies, replyBlockMs, replyStreamOf } from '../shared/queue/replies.ts';
import { createStampQueue } from '../shared/queue/stamp-queue.ts';
import { systemClock } from '../shared/runtime/clock.ts';
import { type Config, ConfigError } from '../shared/runtime/config.ts';
import { runProcess } from '../shared/runtime/lifecycle.ts';
import { createMetrics, serveMetrics } from '../shared/runtime/metrics.ts';
import { version } from '../shared/runtime/version.ts';
import { openStore } from '../shared/store/store.ts';
import { createTokenDoor } from '../shared/trust/judge.ts';
import { loadTrustSettings, namesOf } from '../shared/trust/trusted-providers.ts';
import { buildApp } from './app.ts';
import { createRateLimits } from './http/rate-limits.ts';
import { countVerifications, createActivityCounter } from './services/activity.ts';
import { createHealthService } from './services/health.ts';
import { createIdempotency } from './services/idempotency.ts';
import { createReplyLookup } from './services/reply-lookup.ts';
import { createReplyWaiter } from './services/reply-waiter.ts';
import { createSealedDownload } from './services/sealed-download.ts';
import { createStamping } from './services/stamping.ts';
import { createStatistics } from './services/statistics.ts';
import { createStatusService } from './services/status.ts';
import { createVerification } from './services/verification.ts';
import { createWorkflows } from './services/workflows/workflows.ts';

const hourMs = 3_600_000;

/** @throws ConfigError where the address cannot be had. */
async function listen(app: FastifyInstance, { HOST: host, PORT: port }: Config): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE')
      throw new ConfigError(`PORT: got "${port}", which another process listens on; it takes a free port, or 0 for any`);
    if (code === 'EACCES')
      throw new ConfigError(`PORT: got "${port}", which this user may not listen on; it takes a free port, or 0 for any`);
    if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL') throw new ConfigError(`HOST: got "${host}"; it takes an address of this machine`);
    throw error;
  }
}

await runProcess('api', process.env, async ({ config, log, lifecycle }) => {
  const clock = systemClock;
  const store = openStore(config.MONGODB_URL, log);
  lifecycle.onClose('store', () => store.close());
  const redis = connectProducer(config.REDIS_URL, log);
  lifecycle.onClose('redis', () => disconnect(redis));

  const waiter = createReplyWaiter({
    waitMs: config.STAMP_WAIT_MS,
    findStored: createReplyLookup(store),
    log,
  });
  const replyTo = replyStreamOf(randomUUID());
  const replies = readReplies({
    redis: connectBlockingReader(config.REDIS_URL, log, replyBlockMs),
    stream: replyTo,
    log,
    onReply: waiter.settle,
    onGap: () => void waiter.lookUpAll(),
  });
  lifecycle.onClose('replies', () => replies.stop());
  const queue = createStampQueue({ redis, replyTo, maxDepth: config.QUEUE_MAX_DEPTH, log });
  lifecycle.onClose('queue', () => queue.close());
  const jobs = createJobSender({ redis, log });
  lifecycle.onClose('jobs', () => jobs.close());

  const idempotency = createIdempotency({
    store: store.idempotency,
    key: () => store.keys.secret('idempotency'),
    clock,
    ttlMs: config.IDEMPOTENCY_TTL_HOURS * hourMs,
  });
  const trust = loadTrustSettings(config);
  const door = createTokenDoor({ trust, mockKey: () => store.keys.secret('mock-provider'), clock });
  const activity = createActivityCounter({ counters: store.counters, clock, log });
  lifecycle.onClose('activity', () => activity.stop());
  const addressOf = (path: string) => `${config.PUBLIC_BASE_URL ?? ''}${path}`;
  let listeningAt = '';
  const workflows = createWorkflows({
    ...store,
    queue,
    jobs,
    waiter,
    idempotency,
    clock,
    log,
    ttlMs: config.WORKFLOW_TTL_HOURS * hourMs,
    waitMs: config.STAMP_WAIT_MS,
    addressOf,
    baseUrl: () => config.PUBLIC_BASE_URL ?? listeningAt,
  });
  const metrics = createMetrics({ clock, readQueueState: () => readQueueState(redis) });
  if (config.METRICS_PORT !== undefined) {
    const served = await serveMetrics({ metrics, host: config.HOST, port: config.METRICS_PORT });
    lifecycle.onClose('metrics', served.close);
    log.info({ metricsUrl: served.url }, 'metrics are served');
  }
  const app = await buildApp({
    workflows,
    config,
    log,
    limits: createRateLimits({ redis, onLimited: metrics.rateLimited }),
    metrics,
    stamping: createStamping({ queue, waiter, ...store, idempotency, clock, sealedMaxBytes: config.SEALED_MAX_BYTES }),
    verification: countVerifications(createVerification({ stamps: store.stamps, door, log }), activity),
    statistics: createStatistics({ ...store, clock }),
    downloadSealed: createSealedDownload(store),
    health: createHealthService({
      version,
      clock,
      pingRedis: () => redis.ping(),
      pingStore: store.ping,
      readHeartbeats: (now) => readHeartbeats(redis, now),
    }),
    status: createStatusService({
      version,
      clock,
      stampWaitMs: config.STAMP_WAIT_MS,
      counters: store.counters,
      readHeartbeats: (now) => readHeartbeats(redis, now),
      readQueueState: () => readQueueState(redis),
      configured: namesOf(trust),
    }),
  });
  lifecycle.onClose('http', () => app.close());
  await untilReady(redis);
  listeningAt = await listen(app, config);
  return { url: listeningAt };
});
