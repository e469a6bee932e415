import Fastify, { type FastifyInstance } from 'fastify';
import { registerSecurityHeaders } from '../../src/api/http/security-headers.ts';
import type { WorkflowPage } from '../../src/api/pages/models.ts';
import { registerViews } from '../../src/api/pages/views.ts';
import { contentOf, outputsPage, sha256Of, startSample, statusSamples, verifyUserSamples, workflowSamples } from './page-samples.ts';

/** The sample pages, each at an address of its own; of those that differ in words only, the first two. */
export const samplePaths = [
  ...Object.keys(workflowSamples).map((name) => `/workflow/${name}`),
  ...verifyUserSamples.slice(0, 2).map((_, i) => `/verify-user/${i}`),
  '/not-found/workflow',
  '/not-found/page',
  ...Object.keys(statusSamples).map((name) => `/status/${name}`),
  '/',
];

const longTotal = 250;

/** `/workflow/<workflowId>` as the service serves it: paged, and searched by hash over all pages. */
function longWorkflow(query: { page?: string; find?: string }): WorkflowPage {
  const { find } = query;
  const numbers = Array.from({ length: longTotal }, (_, i) => i + 1);
  return {
    ...workflowSamples.long,
    outputs: outputsPage(longTotal, { page: Number(query.page ?? 1) }),
    find: find ? { hash: find, sequenceNumbers: numbers.filter((number) => sha256Of(contentOf(number)) === find) } : null,
  };
}

/** Serves every sample page with the views and the security headers of the service; nothing else of it runs. */
export async function createPageServer(): Promise<FastifyInstance> {
  const app = Fastify();
  await registerViews(app);
  registerSecurityHeaders(app);
  for (const [name, model] of Object.entries(workflowSamples)) app.get(`/workflow/${name}`, (_, reply) => reply.page('workflow', model));
  for (const [i, model] of verifyUserSamples.entries()) app.get(`/verify-user/${i}`, (_, reply) => reply.page('verify-user', model));
  for (const [name, model] of Object.entries(statusSamples)) app.get(`/status/${name}`, (_, reply) => reply.page('status', model));
  app.get('/not-found/workflow', (_, reply) => reply.page('not-found', { what: 'workflow' }));
  app.get('/not-found/page', (_, reply) => reply.page('not-found', { what: 'page' }));
  app.get('/', (_, reply) => reply.page('start', startSample));
  app.get<{ Querystring: { page?: string; find?: string } }>(`/workflow/${workflowSamples.long.workflowId}`, (request, reply) =>
    reply.page('workflow', longWorkflow(request.query)),
  );
  return app;
}
