import type { FastifyInstance } from 'fastify';
import { type PricingResponse, type ProviderStatus, pricingResponse } from '../../shared/contract/status.ts';
import { version } from '../../shared/contract/version.ts';
import { developmentSentence, meaningPath } from '../../shared/domain/qualification.ts';
import { stampTiers } from '../../shared/domain/stamp.ts';
import type { Words } from '../../shared/views/format.ts';
import type { ServerContext } from '../http/context.ts';
import { empty, json, type OperationContract, page, serveJson } from '../http/operation.ts';
import type { StatusFigures } from './status.ts';

declare module '../http/views.ts' {
  interface PageModels {
    readonly start: ReturnType<ReturnType<typeof startPageOf>>;
    readonly 'what-this-means': Readonly<Record<string, never>>;
  }
}

const startContract: OperationContract = {
  tag: 'Documents',
  id: 'showStartPage',
  summary: 'The start page',
  answers: { 200: page('Explains the service and links to its pages.') },
};

/** Serves the page that explains the service to a person. */
export function registerStartRoute(app: FastifyInstance, { baseUrl }: ServerContext, readStatus: () => Promise<StatusFigures>): void {
  app.get('/', { config: { contract: startContract } }, async (_request, reply) =>
    reply.page('start', startPageOf(baseUrl(), (await readStatus()).status.provider)),
  );
}

const meaningContract: OperationContract = {
  tag: 'Documents',
  id: 'showMeaningPage',
  summary: 'What the words of the pages mean',
  answers: { 200: page('Explains the verdicts in plain words.') },
};

/** Serves the page to which every verdict links. */
export function registerMeaningRoute(app: FastifyInstance): void {
  app.get(meaningPath, { config: { contract: meaningContract } }, async (_request, reply) => reply.page('what-this-means', {}));
}

/** Makes the model of the start page. `baseUrl`: `PUBLIC_BASE_URL`, or the origin on which the service listens. */
export const startPageOf = (baseUrl: string, provider: Provider) => (words: Words) => ({
  version,
  // A shell command that makes a stamp.
  example: `curl ${baseUrl}/api/v1/agent/v1/stamp/basic \\\n  -H 'content-type: application/json' \\\n  -d "{\\"hash\\":\\"$(sha256sum FILE | cut -c1-64)\\"}"`,
  provider: provider.name,
  notice: noticeOf(provider, words),
});

type Provider = Pick<ProviderStatus, 'name' | 'qualification' | 'qualified' | 'last_success_at'>;

/** What the stamps of the provider prove. `isGood`: they are qualified. */
function noticeOf({ name, qualification, qualified, last_success_at }: Provider, { t }: Words) {
  const notice = (title: string, proves: string, icon = 'warning') => ({ isGood: false, icon, title, proves });
  if (name === 'mock') return notice(t('Test stamps'), t('It is for testing: its stamps prove nothing to a third party.'));
  if (qualified?.reason?.startsWith('development_tsa:'))
    return notice(t('Development time-stamps'), `${t(developmentSentence)} ${t('Its stamps prove nothing to a third party.')}`);
  if (last_success_at === null || qualification === 'not_asked')
    return notice(t('Not asked yet'), t('None of its stamps was verified yet, so nothing is known about them.'), 'pending');
  const anybody = t('Anybody who trusts its certificates can check the time.');
  if (qualification === 'not_qualified')
    return notice(t('Not qualified'), `${anybody} ${t('There is no legal presumption (eIDAS, Article 41(2)).')}`);
  const good = { isGood: true, icon: 'check' };
  if (qualified?.basis === 'operator') {
    const claim = t('Only the operator of this service claims that it is qualified: look it up in the EU trusted lists.');
    return { ...good, title: t('Qualified, claimed by the operator'), proves: `${claim} ${anybody}` };
  }
  // While no worker knows who says so, the basis is unknown.
  const listed = qualified?.basis === 'list' ? `${t('A trusted list of the EU grants its service.')} ` : '';
  return { ...good, title: t('Qualified'), proves: listed + anybody };
}

/** The prices for agents. At present everything is free, with or without the header `x-payment-transaction` (S10). */
const pricingOf = (sealedMaxBytes: number): PricingResponse => ({
  version,
  currency: 'EUR',
  payment_required: false,
  payment_header: 'x-payment-transaction',
  tiers: stampTiers.map((tier) => ({
    tier,
    method: 'POST',
    path: `/api/v1/agent/v1/stamp/${tier}`,
    price: { amount: '0.00', currency: 'EUR' },
    max_content_bytes: tier === 'sealed' ? sealedMaxBytes : 0,
  })),
  free: [
    'GET /api/v1/verify/v1/token/{token_id}',
    'POST /api/v1/verify/v1/raw',
    'POST /api/v1/workflow/start',
    'GET /workflow/{workflow_id}',
    'GET /api/v1/status',
  ],
  updated_at: '2026-11-21T00:00:00Z',
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
  app.get(
    '/api/v1/agent/pricing',
    { config: { contract: pricingContract } },
    serveJson(() => pricingOf(sealedMaxBytes)),
  );
}
