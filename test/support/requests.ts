import { createHash, randomBytes } from 'node:crypto';
import { checkByContract } from './contract-check.ts';
import { eventually } from './eventually.ts';
import { type RunningService, serviceToken } from './service.ts';

export { eventually } from './eventually.ts';

export const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');

/** A hash that no other test stamps. */
export const randomHash = (): string => sha256(randomBytes(16));

export const internalHeaders = { 'x-service-token': serviceToken };

export type JsonObject = Record<string, unknown>;

export interface JsonAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: JsonObject;
}

/** Every answer is checked against the OpenAPI document of the service. */
async function ask(service: RunningService, path: string, init: RequestInit): Promise<JsonAnswer> {
  const response = await service.fetch(path, init);
  const text = await response.text();
  const { status, headers } = response;
  await checkByContract(service.url, { method: init.method ?? 'GET', path, status, contentType: headers.get('content-type'), body: text });
  return { status, headers, body: text === '' ? {} : (JSON.parse(text) as JsonObject) };
}

export const getJson = (service: RunningService, path: string, headers: Record<string, string> = {}): Promise<JsonAnswer> =>
  ask(service, path, { headers });

export const postJson = (service: RunningService, path: string, body: unknown, headers: Record<string, string> = {}): Promise<JsonAnswer> =>
  ask(service, path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) });

/** This and the three below ask for details (E15). */
export const stampInternal = (service: RunningService, body: unknown, headers: Record<string, string> = {}): Promise<JsonAnswer> =>
  postJson(service, '/api/v1/internal/v1/stamp?details=true', body, { ...internalHeaders, ...headers });

export const stampAgent = (
  service: RunningService,
  tier: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<JsonAnswer> => postJson(service, `/api/v1/agent/v1/stamp/${tier}?details=true`, body, headers);

export const verifyById = (service: RunningService, tokenId: unknown): Promise<JsonAnswer> =>
  getJson(service, `/api/v1/verify/v1/token/${tokenId}?details=true`);

export const verifyRaw = (service: RunningService, token: unknown): Promise<JsonAnswer> =>
  postJson(service, '/api/v1/verify/v1/raw?details=true', { token });

/** The ids of all stamps of a product, newest first, read page by page. */
export async function listStampIds(service: RunningService, product: Record<string, string> = internalHeaders): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const { body } = await getJson(service, `/api/v1/internal/v1/stamps?limit=500&offset=${ids.length}`, product);
    const items = body.items as { token_id: string }[];
    ids.push(...items.map(({ token_id }) => token_id));
    if (items.length === 0 || ids.length >= Number(body.total)) return ids;
  }
}

/** Checks that the service gets a valid stamp for each of these answers: all are listed, and of many every tenth is verified. */
export async function expectStamped(service: RunningService, answers: readonly JsonAnswer[], withinMs?: number): Promise<void> {
  const ids = answers.map(({ body }) => String(body.token_id));
  await eventually(async () => new Set(ids).isSubsetOf(new Set(await listStampIds(service))), withinMs);
  const sample = ids.length < 20 ? ids : ids.filter((_, index) => index % 10 === 0);
  for (const id of sample) {
    const { body } = await verifyById(service, id);
    if (body.valid !== true) throw new Error(`${id} is listed and not valid: ${body.reason}`);
  }
}
