import type { FastifyInstance } from 'fastify';
import {
  dailyQuery,
  dailyStatsResponse,
  healthResponse,
  type LivenessResponse,
  livenessResponse,
  type PricingResponse,
  type ProviderStatus,
  pricingResponse,
  type ReadinessResponse,
  readinessResponse,
  statusResponse,
} from '../../shared/contract/status.ts';
import { version } from '../../shared/contract/version.ts';
import { developmentSentence } from '../../shared/domain/qualification.ts';
import { stampTiers } from '../../shared/domain/stamp.ts';
import { every } from '../../shared/runtime/timers.ts';
import type { ServerContext } from '../http/context.ts';
import { noteFault } from '../http/errors.ts';
import { empty, entityTagOf, isFresh, json, type OperationContract, page } from '../http/operation.ts';
import { createRequestParser } from '../http/validation.ts';
import type { ApiTools } from '../tools.ts';
import type { HealthService } from './health.ts';
import { readDailyStatistics, type StatusService } from './status.ts';
import { statusPageOf } from './status-page.ts';

/** Together with the maximum age of the figures (2 s), this ensures that a client never sees figures older than 5 s. */
const cacheControl = 'public, max-age=2';

/** The pause between two looks at the state, so that a page can say since when it lasts. */
const lookMs = 10_000;

const tag = 'Health and status';
const jsonContract: OperationContract = {
  tag,
  id: 'readStatus',
  summary: 'The state of the service and its counters',
  description: 'The figures are at most 5 s old. They contain no caller, id, host or path.',
  answers: { 200: json('The state, even during an outage.', statusResponse, { 'Cache-Control': '`public, max-age=2`' }) },
};
const pageContract: OperationContract = {
  tag,
  id: 'showStatusPage',
  summary: 'The state of the service as a page',
  answers: { 200: page('The status page.') },
  errors: ['rate_limited'],
};

const dailyContract = {
  tag: 'Internal',
  authentication: 'service',
  id: 'readDailyStatistics',
  summary: 'Daily statistics, newest day first',
  query: dailyQuery,
  answers: { 200: json('A row for each day, provider and kind of caller; days without traffic have none.', dailyStatsResponse) },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const parseDaily = createRequestParser(dailyContract);

/** Serves the state of the service for programs, and as a page for people. */
export function registerStatusRoutes(
  app: FastifyInstance,
  { requireProduct, limitStatus: onRequest }: ServerContext,
  tools: ApiTools,
  status: StatusService,
): void {
  const look = () =>
    status.read().catch((error) => app.log.debug({ err: error }, 'the state of the service could not be read; the next look follows'));
  const closing = new AbortController();
  app.addHook('onReady', async () => void every(lookMs, look, closing.signal));
  app.addHook('onClose', async () => closing.abort());
  app.get('/api/v1/status', { config: { contract: jsonContract } }, async (_request, reply) => {
    reply.header('Cache-Control', cacheControl);
    return (await status.read()).status;
  });
  app.get('/status', { onRequest, config: { contract: pageContract } }, async (_request, reply) => {
    return reply.header('Cache-Control', cacheControl).page('status', statusPageOf(await status.read()));
  });
  app.get('/api/v1/internal/stats/daily', { config: { contract: dailyContract } }, async (request, reply) => {
    await requireProduct(request, reply);
    return readDailyStatistics(tools, parseDaily(request).query.days);
  });
}

const checkContract: OperationContract = {
  tag,
  id: 'checkHealth',
  summary: 'Health, with the state of everything that this process depends on',
  answers: { 200: json('The process answers; `status` includes everything that it depends on.', healthResponse) },
};
const liveContract: OperationContract = {
  tag,
  id: 'checkLiveness',
  summary: 'Liveness',
  answers: { 200: json('The process answers. This never depends on Redis or MongoDB.', livenessResponse) },
};
const readyContract: OperationContract = {
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
};

/** Registers the health routes, for people and orchestrators. `live`: the process answers. `ready`: stamps can be accepted and read. */
export function registerHealthRoutes(app: FastifyInstance, health: HealthService): void {
  app.get('/health/', { config: { contract: checkContract } }, async () => health.check());
  app.get('/health/live', { config: { contract: liveContract } }, async (): Promise<LivenessResponse> => ({ status: 'ok' }));
  app.get('/health/ready', { config: { contract: readyContract } }, async (request, reply) => {
    const readiness = await health.checkReadiness();
    if (readiness.status === 'not_ready') {
      noteFault(request, { outcome: 'failed', code: 'not_ready' });
      reply.code(503).header('Retry-After', '2');
    }
    return readiness;
  });
}

declare module '../http/views.ts' {
  interface PageModels {
    readonly start: ReturnType<typeof startPageOf>;
  }
}

const contract: OperationContract = {
  tag: 'Documents',
  id: 'showStartPage',
  summary: 'The start page',
  answers: { 200: page('Explains the service and links to its pages.') },
};

/** Serves the page that explains the service to a person. */
export function registerStartRoute(app: FastifyInstance, { baseUrl }: ServerContext, status: StatusService): void {
  app.get('/', { config: { contract } }, async (_request, reply) => {
    const { provider } = (await status.read()).status;
    return reply.page('start', startPageOf({ version, baseUrl: baseUrl(), provider }));
  });
}

/** Makes the model of the start page. `baseUrl`: `PUBLIC_BASE_URL`, or the origin on which the service listens. */
export const startPageOf = (facts: {
  readonly version: string;
  readonly baseUrl: string;
  readonly provider: Pick<ProviderStatus, 'name' | 'qualification' | 'qualified' | 'last_success_at'>;
}) => ({
  version: facts.version,
  // A shell command that makes a stamp.
  example: `curl ${facts.baseUrl}/api/v1/agent/v1/stamp/basic \\\n  -H 'content-type: application/json' \\\n  -d "{\\"hash\\":\\"$(sha256sum FILE | cut -c1-64)\\"}"`,
  provider: facts.provider.name,
  notice: noticeOf(facts.provider),
});

type Provider = Parameters<typeof startPageOf>[0]['provider'];

/** What the stamps of the provider prove. `isGood`: they are qualified. */
function noticeOf({ name, qualification, qualified, last_success_at }: Provider) {
  const notice = (title: string, proves: string, icon = 'warning') => ({ isGood: false, icon, title, proves });
  if (name === 'mock') return notice('Test stamps', 'It is for testing: its stamps prove nothing to a third party.');
  if (qualified?.reason?.startsWith('development_tsa:'))
    return notice('Development time-stamps', `${developmentSentence} Its stamps prove nothing to a third party.`);
  if (last_success_at === null || qualification === 'not_asked')
    return notice('Not asked yet', 'None of its stamps was verified yet, so nothing is known about them.', 'pending');
  const anybody = 'Anybody who trusts its certificates can check the time.';
  if (qualification === 'not_qualified') return notice('Not qualified', `${anybody} There is no legal presumption (eIDAS, Article 41(2)).`);
  const good = { isGood: true, icon: 'check' };
  if (qualified?.basis === 'operator') {
    const claim = 'Only the operator of this service claims that it is qualified: look it up in the EU trusted lists.';
    return { ...good, title: 'Qualified, claimed by the operator', proves: `${claim} ${anybody}` };
  }
  // While no worker knows who says so, the basis is unknown.
  const listed = qualified?.basis === 'list' ? 'A trusted list of the EU grants its service. ' : '';
  return { ...good, title: 'Qualified', proves: listed + anybody };
}

/** ISO 4217 code. */
const currency = 'EUR';
/** When the prices below were set. */
const updatedAt = '2026-11-21T00:00:00Z';

const free = [
  'GET /api/v1/verify/v1/token/{token_id}',
  'POST /api/v1/verify/v1/raw',
  'POST /api/v1/workflow/start',
  'GET /workflow/{workflow_id}',
  'GET /api/v1/status',
];

/** The prices for agents. At present everything is free, with or without the header `x-payment-transaction` (S10). */
const pricingOf = (sealedMaxBytes: number): PricingResponse => ({
  version,
  currency,
  payment_required: false,
  payment_header: 'x-payment-transaction',
  tiers: stampTiers.map((tier) => ({
    tier,
    method: 'POST',
    path: `/api/v1/agent/v1/stamp/${tier}`,
    price: { amount: '0.00', currency },
    max_content_bytes: tier === 'sealed' ? sealedMaxBytes : 0,
  })),
  free,
  updated_at: updatedAt,
});

const pricingContract: OperationContract = {
  tag: 'Agent',
  id: 'readPricing',
  summary: 'The prices of the agent operations',
  answers: {
    200: json('The price list.', pricingResponse, { ETag: 'For `If-None-Match`.', 'Cache-Control': '`public, max-age=300`' }),
    304: empty('It has not changed.'),
  },
};

/** Serves the price list of the agent operations. It is the same for every client until the service is configured differently. */
export function registerPricingRoute(app: FastifyInstance, { sealedMaxBytes }: ServerContext): void {
  const body = JSON.stringify(pricingOf(sealedMaxBytes));
  const etag = entityTagOf(body);
  app.get('/api/v1/agent/pricing', { config: { contract: pricingContract } }, async (request, reply) => {
    reply.headers({ ETag: etag, 'Cache-Control': 'public, max-age=300' });
    if (isFresh(request, etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(body);
  });
}
