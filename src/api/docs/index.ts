import type { FastifyInstance } from 'fastify';
import { openApiDocument } from '../../shared/contract/status.ts';
import { interfaceVersion } from '../../shared/contract/version.ts';
import { json, type OperationContract, page, serveJson } from '../http/operation.ts';
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

/** Serves `/openapi.json` and `/docs`. Both describe all routes that are registered after this call. A route without a contract is an error. */
export function registerDocs(app: FastifyInstance): void {
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
}
