import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { createBodyReader } from '../../../src/api/http/body-reader.ts';
import type { ServerContext } from '../../../src/api/http/context.ts';
import { registerErrorHandler } from '../../../src/api/http/errors.ts';
import { registerJsonBody } from '../../../src/api/http/json-body.ts';
import { registerMcp } from '../../../src/api/mcp/index.ts';
import type { WorkflowTools } from '../../../src/api/workflows/index.ts';
import { ServiceError } from '../../../src/shared/domain/service-error.ts';
import { idleService } from '../../support/idle-service.ts';
import { callTool, failureOf, rpc } from '../../support/mcp.ts';
import { eventually, randomHash, verifyById } from '../../support/requests.ts';
import { addWorker } from '../../support/service.ts';

/** The endpoint over services whose calls all fail with this error. */
async function callBroken(failure: Error) {
  const app = fastify();
  registerErrorHandler(app);
  registerJsonBody(app, createBodyReader(app));
  const fail = () => Promise.reject(failure);
  const unlimited = async () => undefined;
  const context = {
    config: { MCP_ORIGINS: [], CORS_ORIGINS: [] },
    limits: { by: () => unlimited },
    identifyProduct: () => 'test',
    requireProduct: async () => 'test',
    mistakes: { wrongToken: unlimited },
    sealedMaxBytes: 100,
    baseUrl: () => '',
  } as unknown as ServerContext;
  const tools = { config: { SEALED_MAX_BYTES: 100 }, stampJudge: { judgeToken: fail } } as unknown as WorkflowTools;
  registerMcp(app, context, tools);
  const payload = [rpc('tools/call', { name: 'service_verify_token', arguments: { token: 'x' } }, 'a'), rpc('ping', undefined, 'b')];
  const answer = await app.inject({ method: 'POST', url: '/mcp', payload });
  await app.close();
  return { status: answer.statusCode, answers: answer.json() };
}

test('M7: an internal error is −32603 at HTTP 200, gives no reason, and affects no other answer', async () => {
  const { status, answers } = await callBroken(new TypeError('reading secret of undefined'));
  expect(status).toBe(200);
  expect(answers).toEqual([
    {
      jsonrpc: '2.0',
      id: 'a',
      error: { code: -32603, message: 'Internal error', data: { code: 'internal_error', request_id: expect.any(String) } },
    },
    { jsonrpc: '2.0', id: 'b', result: {} },
  ]);
});

test('E9, E10: an expected failure is a result with the text of REST and the time to retry', async () => {
  const failure = new ServiceError('overloaded', 'Too many stamps are waiting.', { retryAfterSeconds: 7, cause: new Error('inner') });
  const { answers } = await callBroken(failure);
  expect(failureOf(answers[0].result)).toEqual({
    code: 'overloaded',
    detail: 'Too many stamps are waiting.',
    retry_after_seconds: 7,
    request_id: expect.any(String),
  });
});

test('E11: a stamp that takes too long gives an error with its id, and becomes readable later', async () => {
  const service = await idleService();
  const hash = randomHash();
  const failure = failureOf(await callTool(service, 'service_stamp_hash', { sha256_hex: hash }));
  const { token_id } = failure;
  expect(failure).toMatchObject({ code: 'stamp_pending', verify_url: `/api/v1/verify/v1/token/${token_id}` });
  await addWorker(service);
  const { body } = await eventually(async () => {
    const answer = await verifyById(service, token_id);
    return answer.body.valid === true && answer;
  });
  expect(body.content_sha256).toBe(hash);
});
