/** Workflows: outputs for a client, which are stamped one after the other and closed under one Merkle root. */
import type { FastifyInstance } from 'fastify';
import type { ServerContext } from '../http/context.ts';
import { registerPageRoutes, registerStopMailRoutes, registerVerifyUserRoutes } from './page-routes.ts';
import { registerWorkflowRoutes } from './workflow-routes.ts';
import type { WorkflowTools } from './workflow-tools.ts';

export function registerWorkflows(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  registerWorkflowRoutes(app, context, tools);
  registerVerifyUserRoutes(app, context, tools);
  registerStopMailRoutes(app, context, tools);
  registerPageRoutes(app, context, tools);
}

export { findWorkflow, openWorkflow } from './access.ts';
export type { RecomputedChain } from './chain-proof.ts';
export { requestCompletion } from './complete.ts';
export { readWorkflowState, startWorkflow } from './lifecycle.ts';
export { stampOutputs } from './outputs.ts';
export { brokenRecord, proveConsistency, proveInclusion, proveInclusionOf, proveSealedChain, type Seal } from './proof.ts';
export { createMailLimits } from './workflow-routes.ts';
export { createWorkflowTools, type WorkflowTools } from './workflow-tools.ts';
