import type { FastifyInstance } from 'fastify';
import { workflowIdPath } from '../../shared/contract/workflow.ts';
import {
  closingRecord,
  consistencyProof,
  consistencyQuery,
  inclusionPathParameters,
  inclusionProof,
  inclusionQuery,
  workflowOutputs,
  workflowOutputsQuery,
} from '../../shared/contract/workflow-proof.ts';
import type { ServerContext } from '../http/context.ts';
import { json, type OperationContract } from '../http/operation.ts';
import { createRequestParser } from '../http/validation.ts';
import { proveConsistency, proveInclusion, proveInclusionOf, type WorkflowTools } from '../workflows/index.ts';
import { publicWorkflowOf, unlisted } from './public-workflow.ts';
import { publishedRecordOf, readPublishedOutputs } from './published.ts';

const recorded = { tag: 'Workflow', path: workflowIdPath, errors: ['not_found', 'rate_limited', 'store_unavailable'] } as const;
const proved = {
  ...recorded,
  errors: ['not_found', 'rate_limited', 'overloaded', 'store_unavailable'],
  description:
    'For a completed workflow the proof leads to the stamped root and comes with both stamps. For an open one it leads to the current root, which has no stamp. ' +
    'The service verifies record and stamps for each answer; if they do not verify, the answer is 500.',
} as const;

const contracts = {
  outputs: {
    ...recorded,
    id: 'listWorkflowOutputs',
    summary: 'The chain of outputs, so that you can recompute it',
    description: 'The chain as recorded; nothing is verified. To recompute it you need only SHA-256.',
    query: workflowOutputsQuery,
    answers: { 200: json('A page of the chain.', workflowOutputs) },
  },
  record: {
    ...recorded,
    id: 'readClosingRecord',
    summary: 'The closing record, byte for byte as stamped',
    description: 'Canonical JSON (RFC 8785). The stamp of the closing record covers the SHA-256 of the body.',
    answers: { 200: json('The closing record.', closingRecord) },
  },
  byNumber: {
    ...proved,
    id: 'readInclusionProof',
    summary: 'Proof that an output is in the tree (RFC 9162 §2.1.3)',
    path: inclusionPathParameters,
    answers: { 200: json('The proof.', inclusionProof) },
  },
  byHash: {
    ...proved,
    id: 'readInclusionProofByHash',
    summary: 'The same proof, found by the hash of an output',
    query: inclusionQuery,
    answers: { 200: json('The proof.', inclusionProof) },
  },
  consistency: {
    ...proved,
    id: 'readConsistencyProof',
    summary: 'Proof that an earlier state of the tree is still there, in the same order (RFC 9162 §2.1.4)',
    query: consistencyQuery,
    answers: { 200: json('The proof.', consistencyProof) },
  },
} satisfies Readonly<Record<string, OperationContract>>;

const parseOutputs = createRequestParser(contracts.outputs);
const parseRecord = createRequestParser({ path: workflowIdPath });
const parseByNumber = createRequestParser(contracts.byNumber);
const parseByHash = createRequestParser(contracts.byHash);
const parseConsistency = createRequestParser(contracts.consistency);

/** Serves chain, closing record and Merkle proofs of a workflow, so that anyone can check it (W21). */
export function registerPublishedRoutes(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  const find = publicWorkflowOf(context, tools);
  const of = (contract: OperationContract) => ({ onRequest: context.limitVerifying, config: { contract } });

  app.get('/workflow/:workflow_id/outputs.json', of(contracts.outputs), async (request, reply) => {
    const { path, query } = parseOutputs(request);
    return readPublishedOutputs(tools, await find(request, unlisted(reply), path.workflow_id), query);
  });
  app.get('/workflow/:workflow_id/closing-record.json', of(contracts.record), async (request, reply) => {
    const workflow = await find(request, unlisted(reply), parseRecord(request).path.workflow_id);
    return reply.type('application/json; charset=utf-8').send(publishedRecordOf(workflow));
  });
  app.get('/api/v1/workflow/:workflow_id/proof/:number', of(contracts.byNumber), async (request, reply) => {
    const { workflow_id, number } = parseByNumber(request).path;
    return proveInclusion(tools, await find(request, reply, workflow_id), number);
  });
  app.get('/api/v1/workflow/:workflow_id/proof', of(contracts.byHash), async (request, reply) => {
    const { path, query } = parseByHash(request);
    return proveInclusionOf(tools, await find(request, reply, path.workflow_id), query.output_hash);
  });
  app.get('/api/v1/workflow/:workflow_id/consistency', of(contracts.consistency), async (request, reply) => {
    const { path, query } = parseConsistency(request);
    return proveConsistency(tools, await find(request, reply, path.workflow_id), query);
  });
}
