import type { FastifyInstance } from 'fastify';
import { closingRecord } from '../../shared/contract/closing-record.ts';
import { workflowIdPath } from '../../shared/contract/workflow.ts';
import { workflowOutputs, workflowOutputsQuery } from '../../shared/contract/workflow-record.ts';
import { createRequestParser } from '../http/validation.ts';
import { json, type OperationContract } from '../openapi/operation.ts';
import { createPublicWorkflow, type PublicWorkflowDeps, unlisted } from './public-workflow.ts';

const tag = 'Workflow';
const errors = ['not_found', 'rate_limited', 'store_unavailable'] as const;

const outputsContract = {
  tag,
  id: 'listWorkflowOutputs',
  summary: 'The chain of outputs, to recompute it',
  description: 'It tells what is recorded and verifies nothing: whoever recomputes it needs SHA-256 and nothing else.',
  path: workflowIdPath,
  query: workflowOutputsQuery,
  answers: { 200: json('A page of the chain.', workflowOutputs) },
  errors,
} satisfies OperationContract;

const recordContract = {
  tag,
  id: 'readClosingRecord',
  summary: 'The closing record, byte for byte as it was stamped',
  description: 'Canonical JSON (RFC 8785): the SHA-256 of the body is what the stamp of the closing record vouches for.',
  path: workflowIdPath,
  answers: { 200: json('What the workflow was closed with.', closingRecord) },
  errors,
} satisfies OperationContract;

const parseOutputs = createRequestParser(outputsContract);
const parsePath = createRequestParser({ path: workflowIdPath });

/** What a workflow publishes for those who check it by themselves (W8, W18). */
export function registerWorkflowRecordRoutes(app: FastifyInstance, deps: PublicWorkflowDeps): void {
  const { published } = deps.workflows;
  const { onRequest, find } = createPublicWorkflow(deps);

  app.get('/workflow/:workflow_id/outputs.json', { onRequest, config: { contract: outputsContract } }, async (request, reply) => {
    const { path, query } = parseOutputs(request);
    return published.outputs(await find(request, unlisted(reply), path.workflow_id), query);
  });

  app.get('/workflow/:workflow_id/closing-record.json', { onRequest, config: { contract: recordContract } }, async (request, reply) => {
    const workflow = await find(request, unlisted(reply), parsePath(request).path.workflow_id);
    return reply.type('application/json; charset=utf-8').send(published.closingRecord(workflow));
  });
}
