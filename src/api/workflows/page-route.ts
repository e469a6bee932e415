import type { FastifyInstance } from 'fastify';
import { workflowIdPath, workflowPageQuery } from '../../shared/contract/workflow.ts';
import type { ServerContext } from '../http/context.ts';
import { sendErrorPage } from '../http/error-page.ts';
import { type OperationContract, page } from '../http/operation.ts';
import { addressKey } from '../http/rate-limits.ts';
import { createRequestParser } from '../http/validation.ts';
import { readWorkflowPage } from './page.ts';
import { outputPagePath } from './workflow-model.ts';
import type { WorkflowTools } from './workflow-tools.ts';
import { workflowViewOf } from './workflow-view.ts';

const contract = {
  tag: 'Workflow',
  id: 'showWorkflowPage',
  summary: 'The public page of a workflow',
  path: workflowIdPath,
  query: workflowPageQuery,
  answers: {
    200: page('The evidence of the workflow: its outputs, the Merkle root and their stamps.'),
    303: { description: 'Redirects to the page with the requested output.' },
    404: page('There is no workflow with this id.'),
  },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const parse = createRequestParser(contract);

/** Each further hundred of outputs on a page counts as one more view, because all of them are verified. */
const outputsOfView = 100;

/** Serves the public page of a workflow (W14). */
export function registerPageRoutes(app: FastifyInstance, { config, limits, mistakes, baseUrl }: ServerContext, tools: WorkflowTools): void {
  const perMinute = config.RATE_WORKFLOW_PAGE_PER_MINUTE;
  const limited = limits.by({ name: 'workflow-page', points: perMinute, durationSeconds: 60, unit: 'views', key: addressKey });
  app.get('/workflow/:workflow_id', { onRequest: limited, config: { contract } }, async (request, reply) => {
    const { path, query } = parse(request);
    reply.header('Cache-Control', 'no-cache').header('X-Robots-Tag', 'noindex, nofollow');
    if (query.output !== undefined) return reply.redirect(outputPagePath(path.workflow_id, query.output), 303);
    const passLimit = async (outputs: number) => {
      const views = Math.min(Math.ceil(outputs / outputsOfView), perMinute);
      if (views > 1) await limited.items(request, reply, views - 1);
    };
    const model = await readWorkflowPage(tools, path.workflow_id, { ...query, passLimit, baseUrl: baseUrl() });
    if (model) return reply.page('workflow', workflowViewOf(model));
    await mistakes.unknownId(request, reply);
    return sendErrorPage(request, reply, { status: 404, detail: 'There is no workflow with this id.', retryAfterSeconds: null });
  });
}
