import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { createContractCheck } from '../../support/contract-check.ts';
import { sharedService } from '../../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is read untyped
type Json = any;

const service = await sharedService();
const document: Json = await (await service.fetch('/openapi.json')).json();

const operations = () =>
  Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) => ({ path, method, name: `${method} ${path}`, operation })),
  );

/** Every operation promised to clients. */
const promised = {
  get: [
    ...['/health/', '/status', '/api/v1/status', '/api/v1/agent/pricing', '/api/v1/internal/v1/stamps', '/api/v1/internal/stats/daily'],
    ...['/api/v1/verify/v1/token/{token_id}', '/api/v1/workflow/{workflow_id}/verify-user', '/workflow/{workflow_id}'],
  ],
  post: [
    ...['/api/v1/internal/v1/stamp', '/api/v1/internal/v1/verify', '/api/v1/verify/v1/raw', '/api/v1/workflow/start', '/mcp'],
    ...['basic', 'plus', 'sealed'].map((tier) => `/api/v1/agent/v1/stamp/${tier}`),
    ...['stamp', 'complete', 'redact-pii'].map((operation) => `/api/v1/workflow/{workflow_id}/${operation}`),
  ],
};

test('is OpenAPI 3.1 of interface version 0.2.0, and names every endpoint of the interface', () => {
  expect([document.openapi, document.info.version]).toEqual([expect.stringMatching(/^3\.1\.\d+$/), '0.2.0']);
  for (const [method, paths] of Object.entries(promised))
    for (const path of paths) expect(document.paths[path], path).toHaveProperty(method);
});

test('gives each operation its own id, a verb first, and declares the parameters of its path; every reference resolves', () => {
  const ids = operations().map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  // Generated clients use these as function names.
  const named =
    /^(call|check|complete|confirm|mail|open|download|list|read|redact|renew|resend|send|show|stamp|start|stop|verify)([A-Z][a-z]*){1,4}$/;
  for (const { path, name, operation } of operations()) {
    expect(operation.operationId).toMatch(named);
    const declared = (operation.parameters ?? []).filter((parameter: Json) => parameter.in === 'path');
    expect(
      declared.map((parameter: Json) => parameter.name),
      name,
    ).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter));
  }
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, ref]) => ref ?? '');
  expect(refs.length).toBeGreaterThan(20);
  expect(refs.length).toBe(JSON.stringify(document).match(/"\$ref"/g)?.length);
  for (const ref of refs) expect(document.components.schemas).toHaveProperty([ref]);
});

test('states the token of each operation, and 401 where one is required (E4, E5, M7)', () => {
  for (const { path, name, operation } of operations()) {
    const isOfWorkflow = /^post .*workflow_id\}\/(stamp|complete|redact-pii)$/.test(name);
    const required = path.startsWith('/api/v1/internal/') ? 'ServiceToken' : isOfWorkflow && 'WorkflowToken';
    if (required) expect([operation.security, operation.responses], name).toMatchObject([[{ [required]: [] }], { 401: {} }]);
    // Every other operation needs no token, or works without one.
    if (!('401' in operation.responses)) expect([[], [{}]], name).toContainEqual(operation.security?.slice(-1));
  }
  expect(document.paths['/api/v1/verify/v1/raw'].post.security).toEqual([]);
  expect(document.paths['/mcp'].post.security).toEqual([{ ServiceToken: [] }, {}]);
});

test('has one type in each schema, because generators such as oapi-codegen do not support lists of types', () => {
  expect(JSON.stringify(document)).not.toContain('"type":[');
  const sealed_storage_url = { anyOf: [{ type: 'string' }, { type: 'null' }] };
  expect(document.components.schemas.StampToken.properties).toMatchObject({ sealed_storage_url, content_sha256: { type: 'string' } });
});

test('V9: says that a list of stamps shows what is recorded', () => {
  const { description, operationId } = document.paths['/api/v1/internal/v1/stamps'].get;
  expect([operationId, description]).toEqual(['listStamps', expect.stringContaining('as recorded. To have them proved')]);
  const asRecorded = { description: 'as recorded; verify the stamp to get a proof' };
  expect(document.components.schemas.StampListItem.properties).toMatchObject({ issued_at: asRecorded, is_qualified: asRecorded });
});

test('marks the answers that are files', () => {
  const files = operations().filter(({ operation }) => operation.operationId.startsWith('download'));
  expect(files.length).toBeGreaterThan(5);
  for (const { name, operation } of files) {
    const [media] = Object.values<Json>(operation.responses['200'].content);
    expect(media.schema, name).toEqual({ type: 'string', format: 'binary' });
  }
});

test('lists the statuses of a stamp operation (E1–E11)', () => {
  const statuses = (path: string) => Object.keys(document.paths[path].post.responses).toSorted();
  const agent = '201 202 409 413 415 422 429 502 503 504 default'.split(' ');
  expect(statuses('/api/v1/agent/v1/stamp/basic')).toEqual(agent);
  expect(statuses('/api/v1/internal/v1/stamp')).toEqual([...agent, '401'].toSorted());
});

test('has an example of every JSON body and answer, and each matches its schema', () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi.json');
  const isValid = (pointer: string, example: unknown) =>
    expect(ajv.validate({ $ref: `openapi.json#/${pointer}` }, example), `${pointer}: ${ajv.errorsText()}`).toBe(true);
  const judge = createContractCheck(document);
  for (const { name, method, path, operation } of operations()) {
    const body = operation.requestBody?.content['application/json'];
    if (body) {
      expect(body.example, name).toBeDefined();
      isValid(`paths/${path.replaceAll('/', '~1')}/${method}/requestBody/content/application~1json/schema`, body.example);
    }
    for (const [status, { content }] of Object.entries<Json>(operation.responses)) {
      const { example } = content?.['application/json'] ?? {};
      if (status.startsWith('2') && content?.['application/json']) expect(example, `${name} ${status}`).toBeDefined();
      if (example === undefined || status === 'default') continue;
      const answer = { method, path, status: Number(status), contentType: 'application/json', body: JSON.stringify(example) };
      expect(judge(answer), name).toBeUndefined();
    }
  }
});

test('may be cached for five minutes, and gives 304 to a client that has it', async () => {
  const { headers } = await service.fetch('/openapi.json');
  expect(headers.get('cache-control')).toBe('public, max-age=300');
  expect((await service.fetch('/openapi.json', { headers: { 'if-none-match': headers.get('etag') ?? '' } })).status).toBe(304);
});
