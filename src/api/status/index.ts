/** The state of the service: health for orchestrators, the status page, statistics, the price list and the start page. */
import type { FastifyInstance } from 'fastify';
import { version } from '../../shared/contract/version.ts';
import type { Durability } from '../../shared/domain/service-state.ts';
import type { Heartbeat } from '../../shared/queue/heartbeat.ts';
import type { QueueState } from '../../shared/queue/queue-state.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Config } from '../../shared/runtime/config.ts';
import type { EvidenceTermStore } from '../../shared/store/evidence-terms.ts';
import type { Store } from '../../shared/store/store.ts';
import { usesTrustedLists } from '../../shared/trust/list-sources.ts';
import { namesOf, type TrustSettings } from '../../shared/trust/trusted-providers.ts';
import type { ServerContext } from '../server/context.ts';
import type { WriteWatch } from '../server/write-watch.ts';
import { createHealthService } from './health.ts';
import { registerHealthRoutes } from './health-routes.ts';
import { pricingOf, registerPricingRoute } from './pricing.ts';
import { registerStartRoute } from './start-route.ts';
import { createDailyStatistics } from './statistics.ts';
import { createStatusService } from './status.ts';
import { registerStatusRoutes } from './status-routes.ts';

export interface StatusPorts {
  readonly config: Config;
  readonly store: Pick<Store, 'counters' | 'ping' | 'trustedLists'> & { readonly evidenceTerms: Pick<EvidenceTermStore, 'readState'> };
  readonly writes: Pick<WriteWatch, 'refusing'>;
  readonly pingRedis: () => Promise<unknown>;
  readonly readHeartbeats: (nowMs: number) => Promise<Heartbeat[]>;
  readonly readQueueState: () => Promise<QueueState>;
  readonly readDurability: () => Promise<Durability>;
  readonly trust: TrustSettings;
  readonly clock: Clock;
}

export function createStatusServices(ports: StatusPorts) {
  const { config, store, writes, pingRedis, readHeartbeats, readQueueState, readDurability, trust, clock } = ports;
  const { counters, evidenceTerms, ping: pingStore } = store;
  return {
    health: createHealthService({ version, clock, pingRedis, pingStore, writes, readHeartbeats }),
    status: createStatusService({
      version,
      clock,
      stampWaitMs: config.STAMP_WAIT_MS,
      counters,
      evidenceTerms,
      readLists: usesTrustedLists(config) ? store.trustedLists.readInForce : async () => [],
      writes,
      readHeartbeats,
      readQueueState,
      readDurability,
      configured: namesOf(trust),
    }),
    dailyStatistics: createDailyStatistics({ counters, clock }),
    pricing: pricingOf({ version, sealedMaxBytes: config.SEALED_MAX_BYTES }),
  };
}

export type StatusServices = ReturnType<typeof createStatusServices>;

export function registerStatus(app: FastifyInstance, context: ServerContext & StatusServices): void {
  registerHealthRoutes(app, context);
  registerStatusRoutes(app, context);
  registerPricingRoute(app, context);
  registerStartRoute(app, context);
}

export { createMailStateReader } from './mail-state.ts';
