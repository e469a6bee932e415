import { fastify } from 'fastify';
import { onTestFinished } from 'vitest';
import { type BodyReaderOptions, createBodyReader } from '../../src/api/http/body-reader.ts';
import { createEdgeServerOptions } from '../../src/api/http/connections.ts';
import { registerErrorHandler } from '../../src/api/http/errors.ts';
import { registerJsonBody } from '../../src/api/http/json-body.ts';
import { createRequestParser } from '../../src/api/http/validation.ts';
import { rawVerifyRequest } from '../../src/shared/contract/verify.ts';
import { listen } from './raw-http.ts';

export const rawPath = '/api/v1/verify/v1/raw';

/** Only the body reader, with small memory and limits, behind one path that returns the body it read. */
export async function startBodies(reader: BodyReaderOptions = {}, bodyLimit = 1024 * 1024) {
  const app = fastify({ ...createEdgeServerOptions(), bodyLimit });
  registerErrorHandler(app);
  registerJsonBody(app, createBodyReader(app, reader));
  const parse = createRequestParser({ body: rawVerifyRequest });
  app.post(rawPath, async (request) => parse(request));
  onTestFinished(() => app.close());
  return app;
}

export async function serveBodies(reader: BodyReaderOptions = {}, bodyLimit?: number) {
  return listen(await startBodies(reader, bodyLimit));
}
