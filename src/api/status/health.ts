import type { HealthResponse, ReadinessResponse } from '../../shared/contract/status.ts';
import { version } from '../../shared/contract/version.ts';
import type { Heartbeat } from '../../shared/redis/heartbeat.ts';
import { answerWithin } from '../../shared/runtime/timers.ts';
import type { ApiTools } from '../tools.ts';
import { mailStateOf, worstClockOf } from './service-state.ts';

/** How long a dependency may take to answer before it counts as down. */
const checkTimeoutMs = 1_000;

/** The checks for `check` run at most once in this time, even if many requests come. */
const mostAgeMs = 1_000;

/** Checks everything that the service depends on. Each check has a time limit, so the answer comes within about a second. */
export interface HealthService {
  /** Returns a state that is at most a second old. */
  check(): Promise<HealthResponse>;
  /** Whether stamps can be accepted and read. That needs Redis and MongoDB, but no worker. */
  checkReadiness(): Promise<ReadinessResponse>;
}

const isUp = async (check: () => Promise<unknown>): Promise<boolean> =>
  (await answerWithin(checkTimeoutMs, async () => {
    await check();
    return true;
  })) ?? false;

/** The state of all providers. It is `ok` only if a working provider has answered; the absence of failures is not enough (V9). */
function providerCheckOf(heartbeats: readonly Heartbeat[]): HealthResponse['checks']['provider'] {
  const providers = heartbeats.flatMap((heartbeat) => heartbeat.providers);
  if (providers.some(({ status, lastSuccessAt }) => status !== 'outage' && lastSuccessAt !== null)) return 'ok';
  return providers.every(({ status }) => status === 'operational') ? 'unknown' : 'failing';
}

export function createHealthService({ store, writes, pingRedis, readHeartbeats, clock }: ApiTools): HealthService {
  async function checkWorkers(): Promise<Pick<HealthResponse['checks'], 'provider' | 'mail' | 'clock'>> {
    const heartbeats = await answerWithin(checkTimeoutMs, () => readHeartbeats(clock()));
    const clockState = worstClockOf((heartbeats ?? []).flatMap(({ providers }) => providers))?.state;
    return {
      provider: providerCheckOf(heartbeats ?? []),
      mail: mailStateOf(heartbeats),
      ...(clockState && { clock: clockState === 'off' ? 'failing' : clockState }),
    };
  }

  async function checkServers(): Promise<ReadinessResponse['checks']> {
    const [redis, mongodb] = await Promise.all([isUp(pingRedis), isUp(store.ping)]);
    const refusing = writes.refusing();
    return { redis: redis && !refusing.redis ? 'ok' : 'failing', mongodb: mongodb && !refusing.mongodb ? 'ok' : 'failing' };
  }

  async function check(): Promise<HealthResponse> {
    const [servers, workers] = await Promise.all([checkServers(), checkWorkers()]);
    const { mail, clock: clockCheck = 'unchecked' } = workers;
    const isWell = [servers.redis, servers.mongodb, workers.provider].every((each) => each === 'ok') && mail !== 'failing';
    const isTimed = clockCheck === 'ok' || clockCheck === 'unchecked';
    return { status: isWell && isTimed ? 'ok' : 'degraded', version, checks: { ...servers, ...workers } };
  }

  let checked: { readonly at: number; readonly health: Promise<HealthResponse> } | undefined;
  return {
    check: () => {
      const at = performance.now();
      if (!checked || at - checked.at >= mostAgeMs) checked = { at, health: check() };
      return checked.health;
    },
    checkReadiness: async () => {
      const checks = await checkServers();
      return { status: Object.values(checks).every((check) => check === 'ok') ? 'ready' : 'not_ready', checks };
    },
  };
}
