import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { getJson, internalHeaders, type JsonAnswer, postJson, randomHash } from '../../support/requests.ts';
import { type Service, startService } from '../../support/service.ts';
import { completeWorkflow, redactWorkflow, type StartedWorkflow, startWorkflow } from '../../support/workflows.ts';

let service: Service;
let workflow: StartedWorkflow;

beforeAll(async () => {
  const settings = {
    TRUST_PROXY: '127.0.0.1',
    RATE_WRONG_TOKEN_PER_MINUTE: '3',
    RATE_UNKNOWN_ID_PER_MINUTE: '3',
    RATE_WORKFLOW_PAGE_PER_MINUTE: '3',
  };
  service = await startService({ settings, keep: true });
  workflow = await startWorkflow(service);
});
afterAll(() => service.stop());

let addresses = 0;
/** An address that nobody has used. */
const fresh = () => ({ 'x-forwarded-for': `192.0.2.${++addresses}` });

/** Asks five times from one address; returns the statuses and the last answer. */
async function five(ask: (from: Record<string, string>) => Promise<JsonAnswer>, from = fresh()) {
  const answers: JsonAnswer[] = [];
  for (let count = 0; count < 5; count += 1) answers.push(await ask(from));
  const last = answers.at(-1);
  return { statuses: answers.map(({ status }) => status), headers: last?.headers, body: last?.body, from };
}

const stamp = (headers: Record<string, string>) => postJson(service, '/api/v1/internal/v1/stamp', { hash: randomHash() }, headers);
const state = (id: string, headers: Record<string, string>) => getJson(service, `/api/v1/workflow/${id}`, headers);
const withToken = (token: string) => ({ authorization: `Workflow ${token}` });

test('R5: many wrong service tokens give 429; the right one still passes from the same address and does not count', async () => {
  const { statuses, headers, body, from } = await five((address) => stamp({ ...address, 'x-service-token': 'wrong' }));
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect(body).toMatchObject({ code: 'rate_limited' });
  expect(Number(headers?.get('retry-after'))).toBeGreaterThan(0);
  expect(headers?.get('ratelimit-limit')).toBe('3');
  expect((await five((address) => stamp({ ...address, ...internalHeaders }), from)).statuses).toEqual([201, 201, 201, 201, 201]);
  expect((await stamp({ ...fresh(), 'x-service-token': 'wrong' })).status).toBe(401);
});

test('R5: calls of /mcp without a token are limited too (M7)', async () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'service_verify_token', arguments: { token: 'x' } } };
  const { statuses, headers, from } = await five((address) => postJson(service, '/mcp', call, address));
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect(Number(headers?.get('retry-after'))).toBeGreaterThan(0);
  expect((await postJson(service, '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, from)).status).toBe(200);
});

test('R5: an address that guesses workflow tokens is blocked for a while; the token holder at another address is not', async () => {
  const { statuses, from } = await five((address) => state(workflow.id, { ...address, ...withToken('wrong') }));
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect((await state(workflow.id, { ...from, ...withToken(workflow.token) })).status).toBe(429);
  const holder = await five((address) => state(workflow.id, { ...address, ...withToken(workflow.token) }));
  expect(holder.statuses).toEqual([200, 200, 200, 200, 200]);
});

test('R5: mail links have a limit beyond the tries of one workflow', async () => {
  const path = () => `/api/v1/workflow/${randomUUID()}/verify-user?challenge=${'0'.repeat(64)}`;
  const { statuses } = await five((address) => getJson(service, path(), { ...address, accept: 'application/json' }));
  expect(statuses).toEqual([404, 404, 404, 429, 429]);
});

test('R5: links that can no longer be right count too; links of a redacted workflow do not', async () => {
  const path = (id: string) => `/api/v1/workflow/${id}/verify-user?challenge=${'A'.repeat(43)}`;
  const ask = (id: string) => (address: Record<string, string>) => getJson(service, path(id), { ...address, accept: 'application/json' });
  const [closed, redacted] = [await startWorkflow(service), await startWorkflow(service)];
  expect((await completeWorkflow(service, closed)).status).toBe(200);
  expect((await five(ask(closed.id))).statuses).toEqual([410, 410, 410, 429, 429]);
  await redactWorkflow(service, redacted);
  expect((await five(ask(redacted.id))).statuses).toEqual([410, 410, 410, 410, 410]);
});

test('R5: unknown ids count, and an existing stamp can still be verified', async () => {
  const { body } = await stamp(internalHeaders);
  const verify = (id: unknown, address: Record<string, string>) => getJson(service, `/api/v1/verify/v1/token/${id}`, address);
  const { statuses, from } = await five((address) => verify(randomUUID(), address));
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  expect((await verify(body.token_id, from)).body.valid).toBe(true);
  const sealed = await five((address) => getJson(service, `/api/v1/sealed/v1/${randomUUID()}/${'A'.repeat(43)}`, address));
  expect(sealed.statuses).toEqual([404, 404, 404, 429, 429]);
});

test('R6: the page of a workflow is limited by address', async () => {
  const view = async (address: Record<string, string>) => (await service.fetch(`/workflow/${workflow.id}`, { headers: address })).status;
  const from = fresh();
  expect([await view(from), await view(from), await view(from), await view(from)]).toEqual([200, 200, 200, 429]);
  expect(await view(fresh())).toBe(200);
});

test('R5: a view of the print edition counts as ten page views', async () => {
  const limited = await startService({ settings: { RATE_WORKFLOW_PAGE_PER_MINUTE: '12' }, workers: 0 });
  const view = async (query = '') => (await limited.fetch(`/workflow/${randomUUID()}${query}`)).status;
  expect([await view('?edition=print'), await view('?edition=print'), await view(), await view()]).toEqual([404, 429, 404, 429]);
});
