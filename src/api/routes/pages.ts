import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { workflowPath } from '../../shared/contract/workflow.ts';
import { createRequestParser } from '../http/validation.ts';
import { type OperationContract, page } from '../openapi/operation.ts';
import type { Workflows } from '../services/workflows/workflows.ts';

/** A page is for people: what they cannot mean is left out, not refused. `find` is a hash, or a line that `sha256sum` printed. */
const pageQuery = z.object({
  page: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).catch(1),
  find: z
    .string()
    .trim()
    .toLowerCase()
    .regex(/^[0-9a-f]{64}(\s.*)?$/)
    .transform((line) => line.slice(0, 64))
    .optional()
    .catch(undefined),
});

const contract = {
  tag: 'Workflow',
  id: 'showWorkflowPage',
  summary: 'The public page of a workflow',
  path: workflowPath,
  query: pageQuery,
  answers: { 200: page('What the workflow proves, its outputs and the trust anchor.'), 404: page('There is no workflow with this id.') },
  errors: ['store_unavailable'],
} satisfies OperationContract;

const parse = createRequestParser(contract);

/** The public page of a workflow (W14). */
export function registerPageRoutes(app: FastifyInstance, { workflows }: { workflows: Workflows }): void {
  app.get('/workflow/:workflow_id', { config: { contract } }, async (request, reply) => {
    const { path, query } = parse(request);
    const model = await workflows.page(path.workflow_id, query);
    reply.header('Cache-Control', 'no-cache').header('X-Robots-Tag', 'noindex, nofollow');
    return model ? reply.page('workflow', model) : reply.code(404).page('not-found', { what: 'workflow' });
  });
}
