import type { FastifyInstance } from 'fastify';
import { dailyQuery, dailyStatsResponse, statusResponse } from '../../shared/contract/status.ts';
import { every } from '../../shared/runtime/every.ts';
import type { ServerContext } from '../http/context.ts';
import { json, type OperationContract, page } from '../http/operation.ts';
import { createRequestParser } from '../http/validation.ts';
import type { ApiTools } from '../tools.ts';
import { readDailyStatistics } from './statistics.ts';
import type { StatusService } from './status.ts';
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
