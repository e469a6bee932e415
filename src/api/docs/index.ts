import type { FastifyInstance } from 'fastify';
import { openApiDocument } from '../../shared/contract/status.ts';
import { interfaceVersion } from '../../shared/contract/version.ts';
import { addressesUnder } from '../../shared/domain/addresses.ts';
import { createViewEngine } from '../../shared/views/engine.ts';
import type { ServerContext } from '../http/context.ts';
import { bytes, json, type OperationContract, page, serveJson } from '../http/operation.ts';
import { type DescribedRoute, describeApi } from './document.ts';

declare module '../http/views.ts' {
  interface PageModels {
    /** The page reads `/openapi.json` in the browser. */
    readonly docs: Readonly<Record<string, never>>;
  }
}

const contract: OperationContract = {
  tag: 'Documents',
  id: 'readOpenApi',
  summary: 'This document',
  answers: { 200: json('OpenAPI 3.1.', openApiDocument) },
};

const pageContract: OperationContract = {
  tag: 'Documents',
  id: 'showDocsPage',
  summary: 'This document as a page, to read and to try',
  answers: { 200: page('The page.') },
};

const llmsContract: OperationContract = {
  tag: 'Documents',
  id: 'readLlmsText',
  summary: 'What an agent needs to know first, as Markdown (llmstxt.org)',
  answers: { 200: bytes('The text.', 'text/plain') },
};

const engine = createViewEngine('en');

/**
 * Serves `/openapi.json`, `/docs` and `/llms.txt`. The first two describe all routes that are registered after this call. A route without a contract is
 * an error.
 */
export function registerDocs(app: FastifyInstance, { baseUrl }: ServerContext): void {
  const routes: DescribedRoute[] = [];
  app.addHook('onRoute', ({ method, url, config }) => {
    const methods = [method].flat().filter((name) => name !== 'HEAD');
    if (config?.contract === undefined && methods.length > 0) throw new Error(`${methods} ${url} has no contract`);
    for (const name of methods) if (config?.contract) routes.push({ method: name, url, contract: config.contract });
  });

  app.get(
    '/openapi.json',
    { config: { contract } },
    serveJson(() => describeApi(routes, { version: interfaceVersion })),
  );
  app.get('/docs', { config: { contract: pageContract } }, (_request, reply) => reply.page('docs', {}));
  app.get('/llms.txt', { config: { contract: llmsContract } }, (_request, reply) =>
    reply
      .type('text/plain; charset=utf-8')
      .header('Cache-Control', 'public, max-age=300')
      .send(engine.render('/llms', { url: addressesUnder(baseUrl()) })),
  );
}
