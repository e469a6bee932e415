import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

/** A running service to measure. */
export interface Target {
  readonly url: string;
  /** An existing stamp with its token. */
  readonly known: { readonly tokenId: string; readonly token: string };
  /** An offset near the end of its stamps. */
  readonly deepOffset: number;
  /** A workflow with some outputs; undefined before the first call that needs it. */
  workflow?: Promise<Prepared>;
}

export interface Call {
  readonly name: string;
  /** Runs before each request and is not measured. `ask` gets its result. */
  readonly prepare?: (target: Target) => Promise<Prepared>;
  readonly ask: (target: Target, prepared: Prepared) => Request;
  /** The number of requests; default 31. */
  readonly times?: number;
}

interface Prepared {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A random client address. Every request has a different address, so that no limit applies. */
const address = (): string => `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;

const randomHash = (): string => randomBytes(32).toString('hex');

function request(target: Target, method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: unknown): Request {
  const all = { 'x-forwarded-for': address(), ...(body !== undefined && { 'content-type': 'application/json' }), ...headers };
  return new Request(new URL(path, target.url), { method, headers: all, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

/** Sends a request, again if the service refuses it only temporarily. @throws Error if the service refuses it */
async function answered(asked: Request): Promise<Record<string, string>> {
  const again = asked.clone();
  const answer = await fetch(asked);
  if (answer.status === 503) {
    await delay(1_000 * Number(answer.headers.get('retry-after') ?? 1));
    return answered(again);
  }
  const body = await answer.text();
  if (!answer.ok) throw new Error(`${asked.method} ${asked.url}: ${answer.status} ${body}`);
  return JSON.parse(body);
}

async function startWorkflow(target: Target, outputs = 0): Promise<{ path: string; headers: Record<string, string> }> {
  const start = { user_email: 'client@example.com', agent_id: 'agent-7', briefing_hash: randomHash() };
  const { workflow_id, workflow_token } = await answered(request(target, 'POST', '/api/v1/workflow/start', {}, start));
  const workflow = { path: `/api/v1/workflow/${workflow_id}`, headers: { authorization: `Workflow ${workflow_token}` } };
  for (let made = 0; made < outputs; made += 1) await answered(output(target, workflow));
  return workflow;
}

const output = (target: Target, { path, headers }: Prepared): Request =>
  request(target, 'POST', `${path}/stamp`, headers, { output_hash: randomHash(), output_type: 'text' });

const often = { 'x-service-token': 'often-service-token' };
const rare = { 'x-service-token': 'rare-service-token' };

const get = (path: string | ((target: Target) => string), headers: Record<string, string> = {}, name?: string): Call => ({
  name: name ?? `GET ${path}`,
  ask: (target) => request(target, 'GET', typeof path === 'string' ? path : path(target), headers),
});

const post = (path: string, headers: Record<string, string>, body: (target: Target) => unknown): Call => ({
  name: `POST ${path}`,
  ask: (target) => request(target, 'POST', path, headers, body(target)),
});

/** A call about one workflow with some outputs, which all these calls share. */
const ofWorkflow = (name: string, ask: Call['ask']): Call => ({
  name,
  prepare: (target) => {
    target.workflow ??= startWorkflow(target, 2);
    return target.workflow;
  },
  ask,
});

/** A call that works only once for each workflow, so each request has a new workflow. */
const ofNewWorkflow = (step: string): Call => ({
  name: `POST /api/v1/workflow/{id}/${step}`,
  prepare: (target) => startWorkflow(target, 1),
  ask: (target, { path, headers }) => request(target, 'POST', `${path}/${step}`, headers),
  times: 15,
});

const list = '/api/v1/internal/v1/stamps';
const html = { accept: 'application/xhtml+xml' };

/** All GET requests, and one of each POST. `offset` is smaller than the number of stamps in both services. */
export const callsWith = (offset: number): readonly Call[] => [
  get(`${list}?limit=50`, often, `GET ${list}, of many`),
  get(`${list}?limit=500`, often, `GET ${list}, of many, limit 500`),
  get(`${list}?limit=50&offset=${offset}`, often, `GET ${list}, of many, offset ${offset}`),
  get(({ deepOffset }) => `${list}?limit=50&offset=${deepOffset}`, often, `GET ${list}, of many, offset ${offset}; 50000`),
  get(`${list}?limit=50`, rare, `GET ${list}, of few among many`),
  get('/api/v1/internal/stats/daily?days=90', often),
  get(({ known }) => `/api/v1/verify/v1/token/${known.tokenId}`, {}, 'GET /api/v1/verify/v1/token/{id}'),
  get(({ known }) => `/api/v1/verify/v1/token/${known.tokenId}`, html, 'GET /api/v1/verify/v1/token/{id}, as a page'),
  get(({ known }) => `/api/v1/verify/v1/token/${known.tokenId}/token`, {}, 'GET /api/v1/verify/v1/token/{id}/token (of a mock: 404)'),
  ...['/', '/verify', '/docs', '/openapi.json', '/health/', '/health/live', '/health/ready', '/api/v1/agent/pricing'].map((path) =>
    get(path),
  ),
  get('/api/v1/status'),
  get('/status'),
  {
    name: 'GET /api/v1/sealed/v1/{id}/{secret}',
    prepare: async (target) => {
      const { sealed_storage_url } = await answered(
        request(target, 'POST', '/api/v1/agent/v1/stamp/sealed', {}, { content_b64: 'aGVsbG8=' }),
      );
      return { path: new URL(sealed_storage_url ?? '', target.url).pathname };
    },
    ask: (target, { path = '' }) => request(target, 'GET', path),
  },
  ofWorkflow('GET /api/v1/workflow/{id}', (target, { path = '', headers }) => request(target, 'GET', path, headers)),
  ofWorkflow('GET /workflow/{id}', (target, { path = '' }) => request(target, 'GET', path.replace('/api/v1', ''))),
  ofWorkflow('GET /api/v1/workflow/{id}/verify-user', (target, { path }) =>
    request(target, 'GET', `${path}/verify-user?challenge=${randomBytes(32).toString('base64url')}`),
  ),
  post('/api/v1/internal/v1/stamp', often, () => ({ hash: randomHash() })),
  ...(['basic', 'plus'] as const).map((tier) => post(`/api/v1/agent/v1/stamp/${tier}`, {}, () => ({ hash: randomHash() }))),
  post('/api/v1/agent/v1/stamp/sealed', {}, () => ({ content_b64: randomBytes(30).toString('base64') })),
  post('/api/v1/verify/v1/raw', {}, ({ known }) => ({ token: known.token })),
  post('/api/v1/internal/v1/verify', often, ({ known }) => ({ token: known.token })),
  post('/mcp', often, ({ known }) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'service_verify_token', arguments: { token_id: known.tokenId } },
  })),
  {
    name: 'POST /verify',
    ask: ({ url, known }) =>
      new Request(new URL('/verify', url), {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': address() },
        body: new URLSearchParams({ token: known.token }).toString(),
      }),
  },
  {
    ...post('/api/v1/workflow/start', {}, () => ({ user_email: 'c@example.com', agent_id: 'agent-7', briefing_hash: randomHash() })),
    times: 15,
  },
  ofWorkflow('POST /api/v1/workflow/{id}/stamp', output),
  ...['resend', 'complete', 'redact-pii'].map(ofNewWorkflow),
];
