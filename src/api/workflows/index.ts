/** Workflows: outputs for a client, which are stamped one after the other and closed under one Merkle root. */
import type { FastifyInstance } from 'fastify';
import { addressesUnder } from '../../shared/domain/addresses.ts';
import { answerWithin } from '../../shared/runtime/timers.ts';
import { canServeQualified } from '../../shared/trust/trusted-providers.ts';
import type { ServerContext } from '../http/context.ts';
import type { StampTools } from '../stamps/index.ts';
import type { StampJudge } from '../verification/index.ts';
import { createChainProver } from './chain-proof.ts';
import { registerPageRoutes, registerStopMailRoutes } from './page-routes.ts';
import { registerVerifyUserRoutes } from './verify-user-routes.ts';
import { registerWorkflowRoutes } from './workflow-routes.ts';
import type { WorkflowTools } from './workflow-tools.ts';
import { markStamp, rememberMarks } from './workflow-tools.ts';

/** How long the state of the workers is waited for, in milliseconds. */
const longestLookMs = 500;

export function createWorkflowTools(tools: StampTools, stampJudge: StampJudge, canSendMail: WorkflowTools['canSendMail']): WorkflowTools {
  const { config, store, trust, readHeartbeats, clock } = tools;
  const makesTestStamps = trust.providers.length === 0;

  async function servesQualified(): Promise<boolean> {
    if (makesTestStamps || !canServeQualified(trust)) return makesTestStamps;
    const heartbeats = (await answerWithin(longestLookMs, () => readHeartbeats(clock()))) ?? [];
    return heartbeats.length === 0 || heartbeats.some(({ providers }) => providers.some(({ mayBeQualified }) => mayBeQualified));
  }

  return {
    ...tools,
    stampJudge,
    canSendMail,
    makesTestStamps,
    servesQualified,
    addressOf: addressesUnder(config.PUBLIC_BASE_URL),
    chains: createChainProver(store.outputs),
    markOutput: rememberMarks((claim, stamp) => markStamp(stampJudge, claim, stamp)),
  };
}

export function registerWorkflows(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  registerWorkflowRoutes(app, context, tools);
  registerVerifyUserRoutes(app, context, tools);
  registerStopMailRoutes(app, context, tools);
  registerPageRoutes(app, context, tools);
}

export { bindAnswer, findWorkflow, openWorkflow, readWorkflowState } from './access.ts';
export type { RecomputedChain } from './chain-proof.ts';
export { requestCompletion, starterIdOf, startWorkflow } from './lifecycle.ts';
export { createMailLimits } from './mail-limits.ts';
export { stampOutputs } from './outputs.ts';
export { brokenRecord, proveSealedChain, type Seal } from './proof.ts';
export { proveConsistency, proveInclusion, proveInclusionOf } from './tree-proofs.ts';
export type { WorkflowTools } from './workflow-tools.ts';
