import type { FastifyInstance } from 'fastify';
import type { ProviderStatus } from '../../shared/contract/status.ts';
import { version } from '../../shared/contract/version.ts';
import { developmentSentence } from '../../shared/domain/qualification.ts';
import type { ServerContext } from '../http/context.ts';
import { type OperationContract, page } from '../http/operation.ts';
import type { StatusService } from './status.ts';

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
