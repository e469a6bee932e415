/** The state of the service: health for orchestrators, the status page, statistics, the price list, the start page and the page that explains words. */
import type { FastifyInstance } from 'fastify';
import {
  dailyQuery,
  dailyStatsResponse,
  type HealthResponse,
  healthResponse,
  livenessResponse,
  type ReadinessResponse,
  readinessResponse,
  statusResponse,
} from '../../shared/contract/status.ts';
import { version } from '../../shared/contract/version.ts';
import type { Heartbeat } from '../../shared/redis/heartbeat.ts';
import { answerWithin, every } from '../../shared/runtime/timers.ts';
import type { ServerContext } from '../http/context.ts';
import { noteFault } from '../http/errors.ts';
import { json, type OperationContract, page } from '../http/operation.ts';
import { createRequestParser } from '../http/validation.ts';
import type { ApiTools } from '../tools.ts';
import { registerMeaningRoute, registerPricingRoute, registerStartRoute } from './site-pages.ts';
import { createStatusReader, mailStateOf, readAtMostEvery, readDailyStatistics, worstClockOf } from './status.ts';
import { statusPageOf } from './status-page.ts';

export { canSendMail } from './status.ts';

/** Together with the maximum age of the figures (2 s), this ensures that a client never sees figures older than 5 s. */
const cacheControl = 'public, max-age=2';

/** The pause between two looks at the state, so that a page can say since when it lasts. */
const lookMs = 10_000;

const tag = 'Health and status';

const contracts = {
  status: {
    tag,
    id: 'readStatus',
    summary: 'The state of the service and its counters',
    description: 'The figures are at most 5 s old. They contain no caller, id, host or path.',
    answers: { 200: json('The state, even during an outage.', statusResponse, { 'Cache-Control': '`public, max-age=2`' }) },
  },
  page: {
    tag,
    id: 'showStatusPage',
    summary: 'The state of the service as a page',
    answers: { 200: page('The status page.') },
    errors: ['rate_limited'],
  },
  daily: {
    tag: 'Internal',
    authentication: 'service',
    id: 'readDailyStatistics',
    summary: 'Daily statistics, newest day first',
    query: dailyQuery,
    answers: { 200: json('A row for each day, provider and kind of caller; days without traffic have none.', dailyStatsResponse) },
    errors: ['rate_limited', 'store_unavailable'],
  },
  health: {
    tag,
    id: 'checkHealth',
    summary: 'Health, with the state of everything that this process depends on',
    answers: { 200: json('The process answers; `status` includes everything that it depends on.', healthResponse) },
  },
  live: {
    tag,
    id: 'checkLiveness',
    summary: 'Liveness',
    answers: { 200: json('The process answers. This never depends on Redis or MongoDB.', livenessResponse) },
  },
  ready: {
    tag,
    id: 'checkReadiness',
    summary: 'Readiness',
    answers: {
      200: json('Stamps can be accepted and read.', readinessResponse),
      503: {
        ...json('Stamps cannot be accepted or read.', readinessResponse, { 'Retry-After': 'Seconds.' }),
        example: { status: 'not_ready', checks: { redis: 'ok', mongodb: 'failing' } } satisfies ReadinessResponse,
      },
    },
  },
} satisfies Readonly<Record<string, OperationContract>>;

const parseDaily = createRequestParser(contracts.daily);
const of = (contract: OperationContract) => ({ config: { contract } });

export function registerStatus(app: FastifyInstance, context: ServerContext, tools: ApiTools): void {
  const health = createHealthService(tools);
  app.get('/health/', of(contracts.health), health.check);
  app.get('/health/live', of(contracts.live), async () => ({ status: 'ok' }));
  // A process that is stopping still answers for a moment, but gets no new requests from balancers that look here.
  let isStopping = false;
  app.addHook('preClose', async () => {
    isStopping = true;
  });
  app.get('/health/ready', of(contracts.ready), async (request, reply) => {
    const checked = await health.checkReadiness();
    const readiness: ReadinessResponse = isStopping ? { ...checked, status: 'not_ready' } : checked;
    if (readiness.status === 'not_ready') {
      noteFault(request, { outcome: 'failed', code: 'not_ready' });
      reply.code(503).header('Retry-After', '2');
    }
    return readiness;
  });

  const readStatus = createStatusReader(tools);
  const look = () =>
    readStatus().catch((error) => app.log.debug({ err: error }, 'the state of the service could not be read; the next look follows'));
  const closing = new AbortController();
  app.addHook('onReady', async () => void every(lookMs, look, closing.signal));
  app.addHook('onClose', async () => closing.abort());
  app.get('/api/v1/status', of(contracts.status), async (_request, reply) => {
    reply.header('Cache-Control', cacheControl);
    return (await readStatus()).status;
  });
  app.get('/status', { onRequest: context.limitStatus, ...of(contracts.page) }, async (_request, reply) =>
    reply.header('Cache-Control', cacheControl).page('status', statusPageOf(await readStatus())),
  );
  app.get('/api/v1/internal/stats/daily', of(contracts.daily), async (request, reply) => {
    await context.requireProduct(request, reply);
    return readDailyStatistics(tools, parseDaily(request).query.days);
  });
  registerPricingRoute(app, context);
  registerMeaningRoute(app);
  registerStartRoute(app, context, readStatus);
}

/** How long a dependency may take to answer before it counts as down. */
const checkTimeoutMs = 1_000;

/** Creates the checks of everything that the service depends on. Each check has a time limit, so the answer comes within about a second. */
export function createHealthService({ store, writes, pingRedis, readHeartbeats, clock }: ApiTools) {
  const isUp = async (check: () => Promise<unknown>) => (await answerWithin(checkTimeoutMs, () => check().then(() => true))) ?? false;

  async function checkServers(): Promise<ReadinessResponse['checks']> {
    const [redis, mongodb] = await Promise.all([isUp(pingRedis), isUp(store.ping)]);
    const refusing = writes.refusing();
    return { redis: redis && !refusing.redis ? 'ok' : 'failing', mongodb: mongodb && !refusing.mongodb ? 'ok' : 'failing' };
  }

  async function check(): Promise<HealthResponse> {
    const [servers, workers = []] = await Promise.all([checkServers(), answerWithin(checkTimeoutMs, () => readHeartbeats(clock()))]);
    const provider = providerCheckOf(workers);
    const mail = mailStateOf(workers);
    const clockState = worstClockOf(workers.flatMap(({ providers }) => providers))?.state;
    const isWell = [servers.redis, servers.mongodb, provider].every((each) => each === 'ok') && mail !== 'failing';
    const isTimed = clockState !== 'off' && clockState !== 'unknown';
    return {
      status: isWell && isTimed ? 'ok' : 'degraded',
      version,
      checks: { ...servers, provider, mail, ...(clockState && { clock: clockState === 'off' ? 'failing' : clockState }) },
    };
  }

  return {
    /** Returns a state that is at most a second old. */
    check: readAtMostEvery(1_000, check),
    /** Whether stamps can be accepted and read. That needs Redis and MongoDB, but no worker. */
    checkReadiness: async (): Promise<ReadinessResponse> => {
      const checks = await checkServers();
      return { status: Object.values(checks).every((each) => each === 'ok') ? 'ready' : 'not_ready', checks };
    },
  };
}

/** The state of all providers. It is `ok` only if a working provider has answered; the absence of failures is not enough (V9). */
function providerCheckOf(workers: readonly Heartbeat[]): HealthResponse['checks']['provider'] {
  const providers = workers.flatMap((worker) => worker.providers);
  if (providers.some(({ status, lastSuccessAt }) => status !== 'outage' && lastSuccessAt !== null)) return 'ok';
  return providers.every(({ status }) => status === 'operational') ? 'unknown' : 'failing';
}
