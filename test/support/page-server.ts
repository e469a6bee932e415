import Fastify, { type FastifyInstance } from 'fastify';
import { registerSecurityHeaders } from '../../src/api/http/headers.ts';
import { registerViews } from '../../src/api/http/views.ts';
import { registerMeaningRoute, startPageOf } from '../../src/api/status/site-pages.ts';
import { statusPageOf } from '../../src/api/status/status-page.ts';
import { verifyFormViewOf, verifyViewOf } from '../../src/api/verification/stamp-pages.ts';
import { type WorkflowPage, workflowViewOf } from '../../src/api/workflows/page.ts';
import { verifyUserPageOf } from '../../src/api/workflows/verify-user-page.ts';
import { addressesUnder } from '../../src/shared/domain/addresses.ts';
import { servePublished } from './page-record.ts';
import {
  contentOf,
  errorSamples,
  hashesOf,
  judgementOf,
  outputsPage,
  sha256Of,
  startSample,
  statusSamples,
  verifySamples,
  verifyUserSamples,
  workflowSamples,
} from './page-samples.ts';

/** Every sample page, each at its own address. */
export const samplePaths = [
  ...Object.keys(workflowSamples).map((name) => `/workflow/${name}`),
  ...Object.keys(verifySamples).map((name) => `/verify/${name}`),
  ...verifyUserSamples.map((_, i) => `/verify-user/${i}`),
  ...Object.keys(errorSamples).map((name) => `/error/${name}`),
  ...Object.keys(statusSamples).map((name) => `/status/${name}`),
  '/stop-mail/asked',
  '/stop-mail/stopped',
  '/what-this-means',
  '/verify',
  '/',
];

const operator = { name: 'Acme Stamps S.à r.l.', url: 'https://acme.example', contact: 'help@acme.example' };

const longTotal = 250;

/** `/workflow/<workflowId>` like in the service: in pages, and searchable by hash over all pages. */
function longWorkflow(long: WorkflowPage, query: { page?: string; find?: string }): WorkflowPage {
  const { find } = query;
  const numbers = Array.from({ length: longTotal }, (_, i) => i + 1);
  return {
    ...long,
    outputs: outputsPage(longTotal, { page: Number(query.page ?? 1) }),
    find: find ? { hash: find, sequenceNumbers: numbers.filter((number) => sha256Of(contentOf(number)) === find) } : null,
  };
}

/** Serves every sample page with the views and security headers of the service, without the rest of it. */
export async function createPageServer(): Promise<FastifyInstance> {
  const app = Fastify();
  await registerViews(app, { operator, addressOf: addressesUnder('https://stamps.example') });
  registerSecurityHeaders(app);
  for (const [name, model] of Object.entries(workflowSamples)) {
    const path = `/workflow/${name}`;
    const published = servePublished(app, path, model, hashesOf(model.outputs.total));
    app.get(path, (_, reply) => reply.page('workflow', workflowViewOf(published)));
  }
  for (const [name, model] of Object.entries(verifySamples))
    app.get(`/verify/${name}`, (_, reply) => reply.page('verify', verifyViewOf(model)));
  for (const [i, facts] of verifyUserSamples.entries())
    app.get(`/verify-user/${i}`, (_, reply) => reply.page('verify-user', verifyUserPageOf(facts)));
  for (const [name, model] of Object.entries(statusSamples))
    app.get(`/status/${name}`, (_, reply) => reply.page('status', statusPageOf(model)));
  for (const [name, model] of Object.entries(errorSamples)) app.get(`/error/${name}`, (_, reply) => reply.page('error', model));
  for (const name of ['asked', 'stopped'])
    app.get(`/stop-mail/${name}`, (_, reply) => reply.page('stop-mail', { isStopped: name === 'stopped' }));
  registerMeaningRoute(app);
  app.get('/verify', (_, reply) => reply.page('verify-form', { asked: null }));
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
  app.post<{ Body: { token: string; hash?: string } }>('/verify', (request, reply) => {
    const { token, hash = '' } = request.body;
    return reply.page('verify-form', verifyFormViewOf({ token, hash, judgement: judgementOf(token) }));
  });
  app.get('/', (_, reply) => reply.page('start', startPageOf(...startSample)));
  const longPath = `/workflow/${workflowSamples.long.workflowId}`;
  const long = servePublished(app, longPath, workflowSamples.long, hashesOf(longTotal));
  app.get<{ Querystring: { page?: string; find?: string } }>(longPath, (request, reply) =>
    reply.page('workflow', workflowViewOf(longWorkflow(long, request.query))),
  );
  return app;
}
