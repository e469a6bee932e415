import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { evidenceDocument, evidenceQuery } from '../../shared/contract/evidence-bundle.ts';
import { workflowIdPath } from '../../shared/contract/workflow.ts';
import type { ServerContext } from '../http/context.ts';
import { bytes, json, type OperationContract } from '../http/operation.ts';
import { createRequestParser } from '../http/validation.ts';
import type { WorkflowTools } from '../workflows/index.ts';
import { documentBundle, zipBundle } from './bundle/bundle.ts';
import { publicWorkflowOf, unlisted } from './public-workflow.ts';

const tag = 'Workflow';
const errors = ['not_found', 'rate_limited', 'overloaded', 'store_unavailable'] as const;
const description =
  'The service verifies chain, root and closing record for each answer; if they do not verify, the answer is 500. The outputs’ own stamps are given as ' +
  'stored. 404 until the workflow is completed.';

const zipContract = {
  tag,
  id: 'downloadEvidenceBundle',
  summary: 'Everything you need to check a completed workflow without this service',
  description: `${description} The bytes are the same each time, unless its stamps change. \`python3 -I verify.py\` in the bundle checks it, and needs only Python 3 and OpenSSL 3.`,
  path: workflowIdPath,
  query: evidenceQuery,
  answers: { 200: bytes('The bundle.', 'application/zip') },
  errors,
} satisfies OperationContract;

const documentContract = {
  tag,
  id: 'readEvidence',
  summary: 'The evidence of a completed workflow as one JSON document',
  description,
  path: workflowIdPath,
  query: evidenceQuery,
  answers: { 200: json('The evidence.', evidenceDocument) },
  errors,
} satisfies OperationContract;

const parse = createRequestParser({ path: workflowIdPath, query: evidenceQuery });

/** Serves the evidence of a completed workflow as a zip file and as JSON (W22). */
export function registerBundleRoutes(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  const { largeAnswers, limitVerifying: onRequest } = context;
  const findPublic = publicWorkflowOf(context, tools);

  async function find(request: FastifyRequest, reply: FastifyReply) {
    const { path, query } = parse(request);
    const workflow = await findPublic(request, reply, path.workflow_id);
    largeAnswers.begin(request, reply);
    unlisted(reply);
    return { workflow, choice: { withLists: query.lists } };
  }

  const options = { onRequest, exposeHeadRoute: false } as const;
  app.get('/workflow/:workflow_id/evidence.zip', { ...options, config: { contract: zipContract } }, async (request, reply) => {
    const { workflow, choice } = await find(request, reply);
    reply.header('Content-Disposition', `attachment; filename="workflow-${workflow._id}.zip"`);
    return reply.type('application/zip').send(await zipBundle(tools, workflow, choice));
  });
  app.get('/workflow/:workflow_id/evidence.json', { ...options, config: { contract: documentContract } }, async (request, reply) => {
    const { workflow, choice } = await find(request, reply);
    return reply.type('application/json; charset=utf-8').send(await documentBundle(tools, workflow, choice));
  });
}
