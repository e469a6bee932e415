import { survivalOf } from '../shared/domain/service-state.ts';
import { watchQueue } from '../shared/queue/queue-state.ts';
import { replyBlockMs } from '../shared/queue/replies.ts';
import { checkConnection, createJobSender } from '../shared/queue/sender.ts';
import {
  checkScript,
  checkUser,
  connectBlockingReader,
  connectProducer,
  connectSender,
  disconnect,
  pingPrimary,
  prefixOf,
  untilReady,
} from '../shared/redis/connection.ts';
import { readDurability, watchDurability } from '../shared/redis/durability.ts';
import { readHeartbeats } from '../shared/redis/heartbeat.ts';
import { type Config, ConfigError } from '../shared/runtime/config.ts';
import type { ProcessContext } from '../shared/runtime/lifecycle.ts';
import { createMetrics, serveMetrics } from '../shared/runtime/metrics.ts';
import { systemClock } from '../shared/runtime/timers.ts';
import { openStore } from '../shared/store/store.ts';
import { noLists, watchLists } from '../shared/store/trusted-lists.ts';
import { usesTrustedLists } from '../shared/trust/list-sources.ts';
import { loadTrustSettings } from '../shared/trust/trusted-providers.ts';
import { createRateLimits } from './http/rate-limits.ts';
import { watchWrites } from './http/write-watch.ts';

/** The tools that every capability of the API gets whole. */
export type ApiTools = Awaited<ReturnType<typeof openApiTools>>;

/** Opens the tools of an API process. `lifecycle` closes them again when the process ends. */
export async function openApiTools(context: ProcessContext<Config>) {
  const { config, log, lifecycle } = context;
  const clock = systemClock;
  const trust = loadTrustSettings(config);

  const store = openStore(config, log);
  lifecycle.onClose('store', () => store.close());
  await store.openKeys();
  const redis = connectProducer(config, log);
  lifecycle.onClose('redis', () => disconnect(redis));
  const jobsRedis = connectSender(config, log);
  lifecycle.onClose('redis for jobs', () => disconnect(jobsRedis));
  const repliesRedis = connectBlockingReader(config, log, replyBlockMs);
  watchDurability(redis, config.REDIS_REPLICAS_ACK, log);
  const queueWatch = watchQueue({ redis, log });
  lifecycle.onClose('queue watch', () => queueWatch.stop());
  const lists = usesTrustedLists(config) ? await watchLists(store.trustedLists, log) : noLists;
  lifecycle.onClose('trusted lists', () => lists.stop());
  const jobs = createJobSender({ redis: jobsRedis, replicas: config.REDIS_REPLICAS_ACK, log });
  lifecycle.onClose('jobs', () => jobs.close());

  /** Checks every connection that a stamp needs. */
  const pingRedis = async () => {
    for (const one of [redis, jobsRedis, repliesRedis]) checkConnection(one);
    // Not over the connection for jobs: while too few replicas confirm them, it answers late.
    await pingPrimary(redis);
  };
  const writeStore = async () => {
    const [heartbeats] = await Promise.all([readHeartbeats(redis, clock()).catch(() => []), store.checkWrite()]);
    if (heartbeats.some(({ isStoreFull }) => isStoreFull)) throw new Error('a worker has no space for stamps');
  };
  const writes = watchWrites({
    redis: { ping: pingRedis, write: () => Promise.all([checkScript(redis), jobs.checkWrite()]) },
    mongodb: { ping: store.ping, write: writeStore },
    log,
  });
  lifecycle.onClose('writes', () => writes.stop());

  const metrics = createMetrics({ clock });
  await serveMetrics(context, metrics, {
    readQueueState: async () => {
      const [state, durability] = await Promise.all([queueWatch.read(), readDurability(redis)]);
      return { ...state, survives: survivalOf(durability, jobs.replicas()) };
    },
  });

  return {
    config,
    store,
    jobs,
    queueWatch,
    lists,
    trust,
    writes,
    metrics,
    limits: createRateLimits(redis, metrics.rateLimited, `${prefixOf(redis)}:limit`),
    repliesRedis,
    pingRedis,
    /** The states of the workers that are alive. */
    readHeartbeats: (nowMs: number) => readHeartbeats(redis, nowMs),
    readDurability: () => readDurability(redis),
    /** Waits a moment for Redis, so that a process can also start while Redis is down. @throws ConfigError if its user may not do what is needed */
    untilReady: async () => {
      await Promise.all([redis, jobsRedis, repliesRedis].map((one) => untilReady(one)));
      await checkUser(redis).catch((error) => {
        if (error instanceof ConfigError) throw error;
      });
    },
    clock,
    log,
    lifecycle,
  };
}
