/** Workflows: outputs for a client, which are stamped one after the other and closed under one Merkle root. */
import type { FastifyInstance } from 'fastify';
import { addressesUnder } from '../../shared/domain/addresses.ts';
import { answerWithin } from '../../shared/runtime/within.ts';
import { canServeQualified } from '../../shared/trust/trusted-providers.ts';
import type { ServerContext } from '../server/context.ts';
import type { ApiTools } from '../tools.ts';
import { registerPageRoutes } from './page-route.ts';
import { registerStopMailRoutes } from './stop-mail-routes.ts';
import { registerVerifyUserRoutes } from './verify-user-routes.ts';
import { registerWorkflowRoutes } from './workflow-routes.ts';
import type { WorkflowTools } from './workflow-tools.ts';
import { createWorkflows, type Workflows } from './workflows.ts';

/** How long the state of the workers is waited for, in milliseconds. */
const longestLookMs = 500;

export function createWorkflowServices(
  tools: ApiTools,
  others: Pick<WorkflowTools, 'submission' | 'idempotency' | 'encryptedOf' | 'stampJudge' | 'canSendMail'>,
) {
  const { config, trust, readHeartbeats, clock } = tools;
  const makesTestStamps = trust.providers.length === 0;

  async function servesQualified(): Promise<boolean> {
    if (makesTestStamps || !canServeQualified(trust)) return makesTestStamps;
    const heartbeats = (await answerWithin(longestLookMs, () => readHeartbeats(clock()))) ?? [];
    return heartbeats.length === 0 || heartbeats.some(({ providers }) => providers.some(({ mayBeQualified }) => mayBeQualified));
  }

  const addressOf = addressesUnder(config.PUBLIC_BASE_URL);
  return { workflows: createWorkflows({ ...tools, ...others, makesTestStamps, servesQualified, addressOf }) };
}

export function registerWorkflows(app: FastifyInstance, context: ServerContext & { readonly workflows: Workflows }): void {
  registerWorkflowRoutes(app, context);
  registerVerifyUserRoutes(app, context);
  registerStopMailRoutes(app, context);
  registerPageRoutes(app, context);
}

export type { RecomputedChain } from './chain-proof.ts';
export type { Seal } from './closing-proof.ts';
export { createMailLimits } from './recipient-limit.ts';
export { brokenRecord, type ProveSealedChain } from './sealed-chain.ts';
export { starterIdOf } from './start.ts';
export type { Workflows } from './workflows.ts';
