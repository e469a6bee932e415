import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples } from '../../src/api/openapi/examples.ts';
import { createContractCheck } from '../support/contract-check.ts';
import { type Service, startService } from '../support/service.ts';

type Members = Record<string, unknown>;
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: readonly Members[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Members;
  }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Members; readonly example?: unknown }> };
  readonly responses: Record<
    string,
    { readonly description: string; readonly content?: Record<string, { readonly schema: Members; readonly example?: unknown }> }
  >;
}
interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string; readonly description: string };
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Members> };
}

let service: Service;
let document: Document;
beforeAll(async () => {
  service = await startService({ keep: true, workers: 0 });
  document = (await (await service.fetch('/openapi.json')).json()) as Document;
});
afterAll(() => service.stop());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, name: `${method} ${path}`, operation })),
  );

/** Every operation that clients were promised. */
const interfaceOperations = [
  'get /health/',
  'get /status',
  'get /api/v1/status',
  'get /api/v1/agent/pricing',
  'post /api/v1/internal/v1/stamp',
  'post /api/v1/internal/v1/verify',
  'get /api/v1/internal/v1/stamps',
  'get /api/v1/internal/stats/daily',
  'post /api/v1/agent/v1/stamp/basic',
  'post /api/v1/agent/v1/stamp/plus',
  'post /api/v1/agent/v1/stamp/sealed',
  'get /api/v1/verify/v1/token/{token_id}',
  'post /api/v1/verify/v1/raw',
  'post /api/v1/workflow/start',
  'get /api/v1/workflow/{workflow_id}/verify-user',
  'post /api/v1/workflow/{workflow_id}/stamp',
  'post /api/v1/workflow/{workflow_id}/complete',
  'post /api/v1/workflow/{workflow_id}/redact-pii',
  'get /workflow/{workflow_id}',
  'post /mcp',
];

describe('GET /openapi.json', () => {
  test('is OpenAPI 3.1 of interface version 0.2.0, and names every endpoint of the interface', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info.version).toBe('0.2.0');
    expect(operations().map(({ name }) => name)).toEqual(expect.arrayContaining(interfaceOperations));
  });

  test('gives each operation an id of its own, and every reference leads somewhere', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    // What generated clients are called by: a verb first, no address in it.
    for (const id of ids)
      expect(id).toMatch(/^(call|check|complete|download|list|read|redact|renew|resend|send|show|stamp|start|verify)([A-Z][a-z]*){1,4}$/);
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref ?? '');
    expect(refs.length).toBeGreaterThan(20);
    for (const ref of refs) expect(document.components.schemas, ref).toHaveProperty([ref.replace('#/components/schemas/', '')]);
  });

  test('every parameter of a path is declared', () => {
    for (const { path, name, operation } of operations()) {
      const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name);
      expect(declared, name).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter));
    }
  });

  test('says who must prove what: the service token and 401 on every internal operation (E4)', () => {
    for (const { path, name, operation } of operations().filter(({ path }) => path.startsWith('/api/v1/internal/'))) {
      expect(operation.security, name).toEqual([{ ServiceToken: [] }]);
      expect(Object.keys(operation.responses), path).toContain('401');
    }
  });

  test('says of every other operation that it needs no token, or does with none', () => {
    const open = operations().filter(({ operation }) => !('401' in operation.responses));
    for (const { name, operation } of open) expect([[], [{}]], name).toContainEqual(operation.security?.slice(-1));
    expect(document.paths['/api/v1/verify/v1/raw']?.post?.security).toEqual([]);
  });

  test('has one type in each schema: generators such as oapi-codegen know no lists of types', () => {
    expect(JSON.stringify(document)).not.toContain('"type":[');
    expect(document.components.schemas.StampToken).toMatchObject({
      properties: { sealed_storage_url: { anyOf: [{ type: 'string' }, { type: 'null' }] }, content_sha256: { type: 'string' } },
    });
  });

  test('operations on a workflow ask for its token (E5)', () => {
    for (const name of ['stamp', 'complete', 'redact-pii']) {
      const operation = document.paths[`/api/v1/workflow/{workflow_id}/${name}`]?.post;
      expect(operation?.security, name).toEqual([{ WorkflowToken: [] }]);
      expect(Object.keys(operation?.responses ?? {}), name).toContain('401');
    }
  });

  test('/mcp takes a service token, and serves who has none (M7)', () => {
    expect(document.paths['/mcp']?.post?.security).toEqual([{ ServiceToken: [] }, {}]);
  });

  test('V9: of a list of stamps says that it tells what is recorded', () => {
    const { description, operationId } = document.paths['/api/v1/internal/v1/stamps']!.get as Operation & { description?: string };
    expect([operationId, description]).toEqual(['listStamps', expect.stringContaining('as recorded; verify a stamp')]);
    const asRecorded = { description: 'as recorded; verify the stamp to have it proved' };
    expect(document.components.schemas.StampListItem?.properties).toMatchObject({ issued_at: asRecorded, is_qualified: asRecorded });
  });

  test('names tiers and headers, and says which answers are files', () => {
    for (const [request, tier] of [
      ['StampRequest', 'StampTier'],
      ['WorkflowStartRequest', 'WorkflowTier'],
    ] as const) {
      const { properties } = document.components.schemas[request] as { properties: { tier: Members } };
      expect(properties.tier).toMatchObject({ $ref: `#/components/schemas/${tier}` });
    }
    const headers = document.paths['/api/v1/agent/v1/stamp/basic']?.post?.parameters?.filter(({ in: place }) => place === 'header') ?? [];
    expect(headers.map(({ name, description = '' }) => [name, description.length > 20])).toEqual([
      ['idempotency-key', true],
      ['x-payment-transaction', true],
      ['prefer', true],
    ]);
    const files = operations().filter(({ operation }) => operation.operationId.startsWith('download'));
    expect(files.length).toBeGreaterThan(5);
    for (const { name, operation } of files) {
      const [media] = Object.values(operation.responses['200']?.content ?? {});
      expect(media?.schema, name).toEqual({ type: 'string', format: 'binary' });
    }
  });

  test('has a guide to authentication, idempotency, limits and errors, above the operations of /docs too', async () => {
    const titles = ['Authentication', 'Idempotency', 'Limits', 'Errors'];
    expect([...document.info.description.matchAll(/^## (.+)$/gm)].map(([, title]) => title)).toEqual(titles);
    const page = await (await service.fetch('/docs')).text();
    const places = [...titles.map((title) => page.indexOf(`>${title}</h2>`)), page.indexOf('<details')];
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  test('names the statuses of a stamp operation (E1–E11)', () => {
    const statuses = (path: string) => Object.keys(document.paths[path]?.post?.responses ?? {}).sort();
    expect(statuses('/api/v1/internal/v1/stamp')).toEqual([
      '201',
      '202',
      '401',
      '409',
      '413',
      '415',
      '422',
      '429',
      '502',
      '503',
      '504',
      'default',
    ]);
    expect(statuses('/api/v1/agent/v1/stamp/basic')).toEqual([
      '201',
      '202',
      '409',
      '413',
      '415',
      '422',
      '429',
      '502',
      '503',
      '504',
      'default',
    ]);
  });

  test('shows an example of every JSON body, and each keeps its schema', () => {
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    ajv.addSchema(document, 'openapi.json');
    for (const { name, operation } of operations()) {
      const body = operation.requestBody?.content['application/json'];
      if (body) {
        expect(body.example, name).toBeDefined();
        const pointer = `openapi.json#/paths/${name.split(' ')[1]?.replaceAll('/', '~1')}/${name.split(' ')[0]}/requestBody/content/application~1json/schema`;
        expect(ajv.validate({ $ref: pointer }, body.example), `${name}: ${ajv.errorsText()}`).toBe(true);
      }
    }
    const judge = createContractCheck(document);
    for (const { name, method, path, operation } of operations()) {
      for (const [status, { content }] of Object.entries(operation.responses)) {
        const { example } = content?.['application/json'] ?? {};
        if (example === undefined || status === 'default') continue;
        const answer = { method, path, status: Number(status), contentType: 'application/json', body: JSON.stringify(example) };
        expect(judge(answer), name).toBeUndefined();
      }
    }
    for (const schema of Object.keys(examples.schemas).filter((id) => id in document.components.schemas)) {
      const valid = ajv.validate({ $ref: `openapi.json#/components/schemas/${schema}` }, examples.of(schema));
      expect(valid, `${schema}: ${ajv.errorsText()}`).toBe(true);
    }
  });

  test('may be kept for five minutes, and answers 304 to whoever has it', async () => {
    const first = await service.fetch('/openapi.json');
    expect(first.headers.get('cache-control')).toBe('public, max-age=300');
    const again = await service.fetch('/openapi.json', { headers: { 'if-none-match': first.headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
  });
});

describe('the check that every JSON answer of the tests passes', () => {
  const answer = { method: 'GET', path: '/health/live', status: 200, contentType: 'application/json; charset=utf-8' };
  test.each([
    ['a member too many', { ...answer, body: '{"status":"ok","more":1}' }],
    ['a member too few', { ...answer, body: '{}' }],
    ['a status that the document does not name', { ...answer, status: 418, body: '{"status":"ok"}' }],
    ['a media type that it does not name', { ...answer, contentType: 'text/plain', body: 'ok' }],
    ['a path that it does not name', { ...answer, path: '/nowhere', body: '{"status":"ok"}' }],
  ])('finds %s', (_, wrong) => {
    expect(createContractCheck(document)(wrong)).toContain('→');
  });
  test('lets the right answer pass', () => {
    expect(createContractCheck(document)({ ...answer, body: '{"status":"ok"}' })).toBeUndefined();
  });
});
