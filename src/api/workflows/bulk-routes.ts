import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptedOutputsAnswer, outputBulkAnswer, outputBulkBody } from '../../shared/contract/bulk.ts';
import { outputHeaders, workflowIdPath, workflowStampRequestFor } from '../../shared/contract/workflow.ts';
import { beforeBody } from '../http/before-body.ts';
import { bulkBodyLimit, readBulk, registerBulkBodies } from '../http/bulk-body.ts';
import type { ServerContext } from '../http/context.ts';
import { acceptedBulkOf, bulkAnswersOf, type OperationContract } from '../http/operation.ts';
import { patienceMsOf, readPrefer } from '../http/prefer.ts';
import { callerIdOf } from '../http/rate-limits.ts';
import { createRequestParser } from '../http/validation.ts';
import { beginAnswer, sendBulk } from '../stamps/index.ts';
import type { openWorkflow } from './access.ts';
import { stampOutputs } from './outputs.ts';
import { stampContract } from './workflow-contracts.ts';
import type { WorkflowTools } from './workflow-tools.ts';

const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';

const contract = {
  tag: 'Workflow',
  id: 'stampWorkflowOutputs',
  summary: 'Stamp up to 1 000 outputs',
  description:
    'Send an array, or a line for each output (`application/x-ndjson`). The answer has the same format and order. Outputs are numbered in that order; one ' +
    `that fails gets no number. One Idempotency-Key covers them all, and so does \`Prefer: respond-async\`.`,
  authentication: 'workflow',
  path: workflowIdPath,
  headers: outputHeaders,
  body: outputBulkBody,
  bodyExample: [{ output_hash: hash, output_type: 'image' }],
  answers: { ...bulkAnswersOf(outputBulkAnswer), ...acceptedBulkOf(acceptedOutputsAnswer) },
  errors: stampContract.errors.filter((code) => code !== 'stamp_pending' && code !== 'provider_failed'),
} satisfies OperationContract;

const parse = createRequestParser({ path: contract.path, headers: contract.headers });

/** Registers the route that stamps many outputs of a workflow in one request (L4). `open` checks the token of the request. */
export function registerBulkOutputs(
  app: FastifyInstance,
  context: ServerContext,
  tools: WorkflowTools,
  open: (request: FastifyRequest, reply: FastifyReply) => ReturnType<typeof openWorkflow>,
): void {
  const { reader, largeAnswers, identifyProduct, judgeCallback, outputLimit } = context;
  const [ofStranger, ofProduct] = [workflowStampRequestFor(), workflowStampRequestFor(judgeCallback)];
  const onRequest = beforeBody((request, reply) => workflowIdPath.safeParse(request.params).success && open(request, reply));
  app.register(async (scope) => {
    registerBulkBodies(scope, reader);
    const options = { bodyLimit: bulkBodyLimit, onRequest, config: { contract } };
    scope.post('/api/v1/workflow/:workflow_id/stamps', options, async (request, reply) => {
      const workflow = await open(request, reply);
      const { headers } = parse(request);
      const product = identifyProduct(request);
      const bulk = readBulk(request, product === undefined ? ofStranger : ofProduct);
      beginAnswer(request, reply, largeAnswers, bulk.size);
      const told = await stampOutputs(tools, {
        workflow,
        operation: 'workflow_stamps',
        product,
        callerId: callerIdOf(request, product),
        entries: bulk.entries.map(({ index, item }) => ({ index, request: item })),
        requestId: request.id,
        idempotencyKey: headers['idempotency-key'],
        passLimit: () => outputLimit.items(request, reply, bulk.size),
        patienceMs: patienceMsOf(readPrefer(request.headers.prefer)),
      });
      return sendBulk(request, reply, bulk, told);
    });
  });
}
