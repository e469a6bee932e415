import type { HealthResponse, ReadinessResponse } from '../../shared/contract/health.ts';
import type { Heartbeat } from '../../shared/queue/heartbeat.ts';
import { answerWithin } from '../../shared/runtime/answer-within.ts';
import type { Clock } from '../../shared/runtime/clock.ts';

/** How long a dependency may take to answer before it counts as down. */
const checkTimeoutMs = 1_000;

/** Asks what the service depends on; each check is bounded, so that the answer comes within about a second. */
export interface HealthService {
  check(): Promise<HealthResponse>;
  /** Whether stamps can be accepted and read: it needs Redis and MongoDB, not a worker. */
  checkReadiness(): Promise<ReadinessResponse>;
}

const isUp = async (check: () => Promise<unknown>): Promise<boolean> =>
  (await answerWithin(checkTimeoutMs, async () => {
    await check();
    return true;
  })) ?? false;

export function createHealthService(deps: {
  version: string;
  clock: Clock;
  pingRedis: () => Promise<unknown>;
  pingStore: () => Promise<void>;
  readHeartbeats: (now: number) => Promise<Heartbeat[]>;
}): HealthService {
  const { version, clock, pingRedis, pingStore, readHeartbeats } = deps;

  async function checkProvider(): Promise<HealthResponse['checks']['provider']> {
    const heartbeats = await answerWithin(checkTimeoutMs, () => readHeartbeats(clock()));
    if (!heartbeats || heartbeats.length === 0) return 'unknown';
    return heartbeats.some(({ providers }) => providers.some(({ status }) => status !== 'outage')) ? 'ok' : 'failing';
  }

  async function checkServers(): Promise<ReadinessResponse['checks']> {
    const [redis, mongodb] = await Promise.all([isUp(pingRedis), isUp(pingStore)]);
    return { redis: redis ? 'ok' : 'failing', mongodb: mongodb ? 'ok' : 'failing' };
  }

  return {
    check: async () => {
      const [servers, provider] = await Promise.all([checkServers(), checkProvider()]);
      const checks = { ...servers, provider };
      return { status: Object.values(checks).every((check) => check === 'ok') ? 'ok' : 'degraded', version, checks };
    },
    checkReadiness: async () => {
      const checks = await checkServers();
      return { status: Object.values(checks).every((check) => check === 'ok') ? 'ready' : 'not_ready', checks };
    },
  };
}
