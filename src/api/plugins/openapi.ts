import type { FastifyInstance } from 'fastify';
import { version } from '../../shared/version.ts';
import { type DescribedRoute, describeApi } from '../openapi/document.ts';
import { bytes, type OperationContract } from '../openapi/operation.ts';
import { entityTagOf, isFresh } from '../routes/entity-tag.ts';

const contract: OperationContract = {
  tag: 'Documents',
  summary: 'This document',
  answers: { 200: bytes('OpenAPI 3.1.', 'application/json') },
};

/** `/openapi.json`, made of the contracts of all routes that are registered after it; one without a contract is an error. */
export function registerOpenApi(app: FastifyInstance): { document(): ReturnType<typeof describeApi> } {
  const routes: DescribedRoute[] = [];
  app.addHook('onRoute', ({ method, url, config }) => {
    const methods = [method].flat().filter((name) => name !== 'HEAD');
    if (config?.contract === undefined && methods.length > 0) throw new Error(`${methods} ${url} has no contract`);
    for (const name of methods) if (config?.contract) routes.push({ method: name, url, contract: config.contract });
  });

  let described: ReturnType<typeof describeApi> | undefined;
  const document = () => {
    described ??= describeApi(routes, { version });
    return described;
  };
  let served: { body: string; etag: string } | undefined;
  const serve = () => {
    const body = JSON.stringify(document());
    return { body, etag: entityTagOf(body) };
  };
  app.get('/openapi.json', { config: { contract } }, async (request, reply) => {
    served ??= serve();
    reply.headers({ ETag: served.etag, 'Cache-Control': 'public, max-age=300' });
    if (isFresh(request, served.etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(served.body);
  });
  return { document };
}
