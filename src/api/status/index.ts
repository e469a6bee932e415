/** The state of the service: health for orchestrators, the status page, statistics, the price list and the start page. */
import type { FastifyInstance } from 'fastify';
import { version } from '../../shared/contract/version.ts';
import { usesTrustedLists } from '../../shared/trust/list-sources.ts';
import { namesOf } from '../../shared/trust/trusted-providers.ts';
import type { ServerContext } from '../server/context.ts';
import type { ApiTools } from '../tools.ts';
import { createHealthService } from './health.ts';
import { registerHealthRoutes } from './health-routes.ts';
import { pricingOf, registerPricingRoute } from './pricing.ts';
import { registerStartRoute } from './start-route.ts';
import { createDailyStatistics } from './statistics.ts';
import { createStatusService } from './status.ts';
import { registerStatusRoutes } from './status-routes.ts';

export function createStatusServices(tools: ApiTools) {
  const { config, store, writes, pingRedis, readHeartbeats, queueWatch, readDurability, trust, clock } = tools;
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
      readQueueState: queueWatch.read,
      readDurability,
      configured: namesOf(trust),
    }),
    dailyStatistics: createDailyStatistics({ counters, clock }),
    pricing: pricingOf({ version, sealedMaxBytes: config.SEALED_MAX_BYTES }),
  };
}

type StatusServices = ReturnType<typeof createStatusServices>;

export function registerStatus(app: FastifyInstance, context: ServerContext & StatusServices): void {
  registerHealthRoutes(app, context);
  registerStatusRoutes(app, context);
  registerPricingRoute(app, context);
  registerStartRoute(app, context);
}

export { createMailCheck } from './mail-state.ts';
