import type { FastifyInstance } from 'fastify';
import { workflowIdPath } from '../../shared/contract/workflow.ts';
import {
  consistencyProof,
  consistencyQuery,
  inclusionPathParameters,
  inclusionProof,
  inclusionQuery,
} from '../../shared/contract/workflow-proof.ts';
import { createRequestParser } from '../http/validation.ts';
import { json, type OperationContract } from '../openapi/operation.ts';
import { createPublicWorkflow, type PublicWorkflowDeps } from './public-workflow.ts';

const tag = 'Workflow';
const errors = ['not_found', 'rate_limited', 'overloaded', 'store_unavailable'] as const;
const heads =
  'Of a completed workflow against the stamped root, with both stamps; of an open one against the root as it is now, which nothing else vouches for. ' +
  'Record and stamps are verified for each answer; where they do not verify, it is 500.';

const byNumberContract = {
  tag,
  id: 'readInclusionProof',
  summary: 'Proof that an output is in the tree (RFC 9162 §2.1.3)',
  description: heads,
  path: inclusionPathParameters,
  answers: { 200: json('The proof.', inclusionProof) },
  errors,
} satisfies OperationContract;

const byHashContract = {
  tag,
  id: 'readInclusionProofByHash',
  summary: 'The same, for the hash of an output',
  description: heads,
  path: workflowIdPath,
  query: inclusionQuery,
  answers: { 200: json('The proof.', inclusionProof) },
  errors,
} satisfies OperationContract;

const consistencyContract = {
  tag,
  id: 'readConsistencyProof',
  summary: 'Proof that what was shown before is still there, in its order (RFC 9162 §2.1.4)',
  description: heads,
  path: workflowIdPath,
  query: consistencyQuery,
  answers: { 200: json('The proof.', consistencyProof) },
  errors,
} satisfies OperationContract;

const parseByNumber = createRequestParser(byNumberContract);
const parseByHash = createRequestParser(byHashContract);
const parseConsistency = createRequestParser(consistencyContract);

/** Merkle proofs over the outputs of a workflow (W21). */
export function registerWorkflowProofRoutes(app: FastifyInstance, deps: PublicWorkflowDeps): void {
  const { proofs } = deps.workflows;
  const { onRequest, find } = createPublicWorkflow(deps);

  app.get('/api/v1/workflow/:workflow_id/proof/:number', { onRequest, config: { contract: byNumberContract } }, async (request, reply) => {
    const { workflow_id, number } = parseByNumber(request).path;
    return proofs.inclusion(await find(request, reply, workflow_id), number);
  });
  app.get('/api/v1/workflow/:workflow_id/proof', { onRequest, config: { contract: byHashContract } }, async (request, reply) => {
    const { path, query } = parseByHash(request);
    return proofs.inclusionOf(await find(request, reply, path.workflow_id), query.output_hash);
  });
  app.get('/api/v1/workflow/:workflow_id/consistency', { onRequest, config: { contract: consistencyContract } }, async (request, reply) => {
    const { path, query } = parseConsistency(request);
    return proofs.consistency(await find(request, reply, path.workflow_id), query);
  });
}
