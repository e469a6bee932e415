/** Workflows: outputs for a client, which are stamped one after the other and closed under one Merkle root. */
import type { FastifyInstance } from 'fastify';
import { addressesUnder } from '../../shared/domain/addresses.ts';
import { answerWithin } from '../../shared/runtime/within.ts';
import { canServeQualified } from '../../shared/trust/trusted-providers.ts';
import type { ServerContext } from '../server/context.ts';
import type { Stamps } from '../stamps/index.ts';
import type { ApiTools } from '../tools.ts';
import type { StampJudge } from '../verification/index.ts';
import { registerPageRoutes } from './page-route.ts';
import { registerStopMailRoutes } from './stop-mail-routes.ts';
import { registerVerifyUserRoutes } from './verify-user-routes.ts';
import { registerWorkflowRoutes } from './workflow-routes.ts';
import { createWorkflows, type Workflows } from './workflows.ts';

const hourMs = 3_600_000;

/** How long the state of the workers is waited for, in milliseconds. */
const longestLookMs = 500;

export function createWorkflowServices(
  tools: ApiTools,
  others: Pick<Stamps, 'submission' | 'idempotency' | 'encryptedOf'> & {
    readonly stampJudge: StampJudge;
    readonly canSendMail: () => Promise<boolean>;
  },
) {
  const { config, store, trust, jobs, writes, readHeartbeats, clock, log } = tools;
  const makesTestStamps = trust.providers.length === 0;
  const { workflows, outputs, stamps, counters, blockedRecipients, keys } = store;
  return {
    workflows: createWorkflows({
      ...others,
      workflows,
      outputs,
      stamps,
      counters,
      blockedRecipients,
      recipientKey: () => keys.secret('recipients'),
      jobs,
      writes,
      clock,
      log,
      makesTestStamps,
      servesQualified: async () => {
        if (makesTestStamps || !canServeQualified(trust)) return makesTestStamps;
        const heartbeats = (await answerWithin(longestLookMs, () => readHeartbeats(clock()))) ?? [];
        return heartbeats.length === 0 || heartbeats.some(({ providers }) => providers.some(({ mayBeQualified }) => mayBeQualified));
      },
      confirmWith: config.CONFIRM_WITH,
      ttlMs: config.WORKFLOW_TTL_HOURS * hourMs,
      waitMs: config.STAMP_WAIT_MS,
      addressOf: addressesUnder(config.PUBLIC_BASE_URL),
    }),
  };
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
export type { WorkflowTools } from './workflow-tools.ts';
export type { Workflows } from './workflows.ts';
