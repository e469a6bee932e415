import { describe, expect, test } from 'vitest';
import { callTool, failureOf, mcpResult, postMcp, rpc, type ToolResult } from '../../support/mcp.ts';
import { getJson, internalHeaders, randomHash, sha256, stampInternal, verifyById } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const service = await sharedService();

test.each(['2024-11-05', '2025-11-25', '2099-01-01'])(
  'M1: a client that offers %s gets 2024-11-05, without a token',
  async (protocolVersion) => {
    const clientInfo = { name: 'test', version: '1.0' };
    const { status, headers, body } = await postMcp(service, rpc('initialize', { protocolVersion, capabilities: {}, clientInfo }));
    expect([status, headers.get('content-type')]).toEqual([200, expect.stringMatching(/^application\/json\b/)]);
    const result = { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'qstamp', version: '0.1.0' } };
    expect(body).toEqual({ jsonrpc: '2.0', id: 1, result });
  },
);

test('M2: tools/list names the three tools of the contract first, each with a description, a JSON Schema and annotations', async () => {
  type Schema = { type: string; properties: Record<string, object>; required?: string[]; description?: string };
  type Listed = { name: string; description: string; inputSchema: Schema; annotations: Record<string, unknown> };
  const { tools } = (await mcpResult(service, rpc('tools/list'))) as { tools: Listed[] };
  const isIt = expect.any(Boolean);
  const annotated = { title: expect.any(String), destructiveHint: false, readOnlyHint: isIt, idempotentHint: isIt, openWorldHint: isIt };
  for (const { description, inputSchema, annotations } of tools) {
    expect(description.length).toBeGreaterThan(40);
    expect(inputSchema.type).toBe('object');
    expect(annotations).toEqual(annotated);
  }
  const [hash, content, verify] = tools;
  const names = [hash, content, verify].map((tool) => [tool?.name, tool?.annotations.readOnlyHint, tool?.inputSchema.required]);
  expect(names).toEqual([
    ['service_stamp_hash', false, ['sha256_hex']],
    ['service_stamp_content', false, ['content_b64']],
    ['service_verify_token', true, undefined],
  ]);
  expect(hash?.inputSchema.properties).toMatchObject({
    sha256_hex: { type: 'string', pattern: '^[0-9a-fA-F]{64}$' },
    tier: { enum: ['basic', 'plus', 'sealed'], default: 'basic' },
  });
  expect(Object.keys(verify?.inputSchema.properties ?? {})).toEqual(['token_id', 'token']);
  expect(verify?.inputSchema.description).toMatch(/exactly one/);
});

describe('tools/call', () => {
  test('M5: a hash is stamped for the product, and the result has the stamp as text and as data', async () => {
    const hash = randomHash();
    const given = { sha256_hex: hash, tier: 'plus', metadata: { a: 'b' } };
    const { isError, content, structuredContent } = await callTool(service, 'service_stamp_hash', given);
    expect([isError, content]).toEqual([false, [{ type: 'text', text: JSON.stringify(structuredContent) }]]);
    expect(structuredContent).toMatchObject({ content_sha256: hash, tier: 'plus', tsp_provider: 'mock', is_qualified: false });
    const { token_id, issued_at } = structuredContent;
    expect((await verifyById(service, token_id)).body).toMatchObject({ valid: true, issued_at, content_sha256: hash });
    const { body } = await getJson(service, '/api/v1/internal/v1/stamps?limit=1', internalHeaders);
    expect(body.items).toEqual([expect.objectContaining({ token_id })]);
  });

  test('M3: content is sealed, with line breaks in its base64 too (S2), and can be fetched again', async () => {
    const content_b64 = Buffer.from('for the assistant').toString('base64').replace(/.{8}/g, '$&\n');
    const given = { content_b64, tier: 'sealed', more: 1 };
    const { structuredContent: stamp } = await callTool(service, 'service_stamp_content', given);
    expect(stamp).toMatchObject({ tier: 'sealed', content_sha256: sha256('for the assistant') });
    expect(await (await service.fetch(String(stamp.sealed_storage_url))).text()).toBe('for the assistant');
  });

  test('S2, S3: empty content is stamped, and so is content of exactly SEALED_MAX_BYTES; one byte more is too large', async () => {
    const seal = (bytes: number) => callTool(service, 'service_stamp_content', { content_b64: Buffer.alloc(bytes).toString('base64') });
    expect([await seal(0), await seal(100_000)]).toMatchObject([{ isError: false }, { isError: false }]);
    const refusal = { code: 'payload_too_large', detail: expect.stringContaining('content_b64') };
    expect(failureOf(await seal(100_001))).toMatchObject(refusal);
  });

  test('V3: a token that does not verify gives a result with its reason, not an error', async () => {
    const { isError, structuredContent } = await callTool(service, 'service_verify_token', { token: 'AAAA', token_id: null });
    const result = { valid: false, reason: expect.stringMatching(/^[a-z0-9_]+: \S/) };
    expect([isError, structuredContent]).toMatchObject([false, result]);
  });

  test('W17: an upper-case hash is stamped and returned in lower case; the default tier is basic', async () => {
    const hash = randomHash();
    const { structuredContent } = await callTool(service, 'service_stamp_hash', { sha256_hex: hash.toUpperCase() });
    expect(structuredContent).toMatchObject({ content_sha256: hash, tier: 'basic' });
  });

  test('S9: a key is the same in REST and MCP; another call with it is refused, and is no replay', async () => {
    const [hash, key] = [randomHash(), `key-${randomHash()}`];
    const { body: stamp } = await stampInternal(service, { hash }, { 'idempotency-key': key });
    const { structuredContent } = await callTool(service, 'service_stamp_hash', { sha256_hex: hash }, { idempotency_key: key });
    expect(structuredContent).toEqual(stamp);
    const other = { name: 'service_stamp_hash', arguments: { sha256_hex: randomHash() }, _meta: { idempotency_key: key } };
    const { headers, body } = await postMcp(service, rpc('tools/call', other), internalHeaders);
    expect(failureOf((body as { result: ToolResult }).result)).toMatchObject({ code: 'idempotency_key_reused' });
    expect(headers.has('idempotent-replayed')).toBe(false);
  });
});

const id = '01890a5d-ac96-774b-bcce-b302099a8057';
const hash = randomHash();
test.each<[string, unknown, string]>([
  ['service_stamp_hash', undefined, 'sha256_hex'],
  ['service_stamp_hash', null, 'sha256_hex'],
  ['service_stamp_hash', { sha256_hex: hash, tier: 'gold' }, 'tier'],
  ['service_stamp_hash', { sha256_hex: hash, metadata: { a: 1 } }, 'metadata'],
  ['service_stamp_hash', { sha256_hex: hash, metadata: { a: 'x'.repeat(4096) } }, '"arguments","metadata"'],
  ['service_stamp_hash', 'text', 'arguments'],
  ['service_stamp_content', { content_b64: 'AA-A' }, 'content_b64'],
  ['service_verify_token', {}, 'token_id'],
  ['stamp_file_hashes', {}, 'files'],
  ['stamp_file_hashes', { files: [] }, 'files'],
  ['workflow_status', {}, 'workflow_id'],
  ['workflow_stamp_output', { workflow_id: id, output_hash: hash, output_type: 'text' }, 'workflow_token'],
  ['workflow_complete', { workflow_id: 'x', workflow_token: 'x' }, 'workflow_id'],
  ['verify_file_hash', { sha256_hex: hash, token: 'x', workflow_id: id }, 'exactly one'],
])('M6: %s %.60j gives a result that names %s', async (name, given, named) => {
  expect(JSON.stringify(failureOf(await callTool(service, name, given)).detail)).toContain(named);
});
