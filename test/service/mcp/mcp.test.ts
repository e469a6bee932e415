import { describe, expect, test } from 'vitest';
import { callTool, failureOf, faultOf, mcpResult, postMcp, rpc, type ToolResult } from '../../support/mcp.ts';
import { getJson, internalHeaders, randomHash, sha256, stampInternal, verifyById } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const service = await sharedService();

const initializeParams = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1.0' } };

describe('the handshake', () => {
  test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2099-01-01'])(
    'M1: a client that offers %s gets 2024-11-05, without a token',
    async (protocolVersion) => {
      const { status, headers, body } = await postMcp(service, rpc('initialize', { ...initializeParams, protocolVersion }));
      expect(status).toBe(200);
      expect(headers.get('content-type')).toMatch(/^application\/json\b/);
      expect(body).toEqual({
        jsonrpc: '2.0',
        id: 1,
        result: { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'qstamp', version: '0.1.0' } },
      });
    },
  );
});

describe('M2: tools/list', () => {
  interface Listed {
    name: string;
    description: string;
    inputSchema: { type: string; properties: Record<string, Record<string, unknown>>; required?: string[]; description?: string };
    annotations: Record<string, unknown>;
  }
  const list = async () => ((await mcpResult(service, rpc('tools/list'))) as { tools: Listed[] }).tools;

  test('names the three tools first, each with a description, a JSON Schema and annotations', async () => {
    const tools = await list();
    const ofContract = tools.slice(0, 3);
    expect(ofContract.map(({ name }) => name)).toEqual(['service_stamp_hash', 'service_stamp_content', 'service_verify_token']);
    for (const { description, inputSchema, annotations } of tools) {
      expect(description.length).toBeGreaterThan(40);
      expect(inputSchema.type).toBe('object');
      expect(annotations).toEqual({
        title: expect.any(String),
        readOnlyHint: expect.any(Boolean),
        destructiveHint: false,
        idempotentHint: expect.any(Boolean),
        openWorldHint: expect.any(Boolean),
      });
    }
    expect(ofContract.map(({ annotations }) => annotations.readOnlyHint)).toEqual([false, false, true]);
  });

  test('the schemas describe the arguments', async () => {
    const [hash, content, verify] = (await list()).map(({ inputSchema }) => inputSchema);
    expect(hash?.required).toEqual(['sha256_hex']);
    expect(hash?.properties.sha256_hex).toMatchObject({ type: 'string', pattern: '^[0-9a-fA-F]{64}$' });
    expect(hash?.properties.tier).toMatchObject({ enum: ['basic', 'plus', 'sealed'], default: 'basic' });
    expect(content?.required).toEqual(['content_b64']);
    expect(Object.keys(verify?.properties ?? {})).toEqual(['token_id', 'token']);
    expect(verify?.description).toMatch(/exactly one/);
    expect(verify?.required).toBeUndefined();
  });
});

describe('tools/call', () => {
  test('M5: a hash is stamped for the product, and the result has the stamp as text and as data', async () => {
    const hash = randomHash();
    const result = await callTool(service, 'service_stamp_hash', { sha256_hex: hash, tier: 'plus', metadata: { a: 'b' } });
    expect(result.isError).toBe(false);
    expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(result.structuredContent) }]);
    expect(result.structuredContent).toMatchObject({ content_sha256: hash, tier: 'plus', tsp_provider: 'mock', is_qualified: false });
    const { token_id, issued_at } = result.structuredContent;
    expect((await verifyById(service, token_id)).body).toMatchObject({ valid: true, issued_at, content_sha256: hash });
    const { body } = await getJson(service, '/api/v1/internal/v1/stamps?limit=1', internalHeaders);
    expect(body.items).toEqual([expect.objectContaining({ token_id })]);
  });

  test('M3: content is sealed, with line breaks in its base64 too (S2), and can be fetched again', async () => {
    const content = Buffer.from('for the assistant');
    const { structuredContent } = await callTool(service, 'service_stamp_content', {
      content_b64: content.toString('base64').replace(/.{8}/g, '$&\n'),
      tier: 'sealed',
      more: 1,
    });
    expect(structuredContent).toMatchObject({ tier: 'sealed', content_sha256: sha256(content) });
    expect(await (await service.fetch(String(structuredContent.sealed_storage_url))).text()).toBe('for the assistant');
  });

  test.each(['basic', 'plus', 'gold', '', 'SEALED', 7, {}])('M3: content with the tier %j is −32602', async (tier) => {
    const call = rpc('tools/call', { name: 'service_stamp_content', arguments: { content_b64: 'AAAA', tier } }, 'x');
    const answer = await postMcp(service, call, internalHeaders);
    expect(faultOf(answer)).toEqual({ status: 200, id: 'x', code: -32602 });
    expect(answer.text).toContain('tier');
  });

  test('a token that does not verify gives a result with its reason, not an error (V3)', async () => {
    const { isError, structuredContent } = await callTool(service, 'service_verify_token', { token: 'AAAA', token_id: null });
    expect(isError).toBe(false);
    expect(structuredContent).toMatchObject({ valid: false, reason: expect.stringMatching(/^[a-z0-9_]+: \S/) });
  });

  test('S9: a repeated idempotency key gives the same answer with a replay header; another call with that key is refused', async () => {
    const key = `key-${randomHash()}`;
    const call = (sha256_hex: string) =>
      postMcp(
        service,
        rpc('tools/call', { name: 'service_stamp_hash', arguments: { sha256_hex }, _meta: { idempotency_key: key } }),
        internalHeaders,
      );
    const hash = randomHash();
    const [first, again] = [await call(hash), await call(hash)];
    expect(first.body).toMatchObject({ result: { isError: false, structuredContent: { content_sha256: hash } } });
    expect(again.text).toBe(first.text);
    expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    const clash = await call(randomHash());
    expect(failureOf((clash.body as { result: ToolResult }).result)).toMatchObject({ code: 'idempotency_key_reused' });
    expect(clash.headers.has('idempotent-replayed')).toBe(false);
  });

  test('S9: a key of a product is the same key in REST and MCP', async () => {
    const key = `key-${randomHash()}`;
    const hash = randomHash();
    const { body: stamp } = await stampInternal(service, { hash }, { 'idempotency-key': key });
    const { structuredContent } = await callTool(service, 'service_stamp_hash', { sha256_hex: hash }, { idempotency_key: key });
    expect(structuredContent).toEqual(stamp);
  });
});

describe('M6: bad arguments give a result that names the field', () => {
  const hash = randomHash();
  test.each([
    ['service_stamp_hash', undefined, 'sha256_hex'],
    ['service_stamp_hash', null, 'sha256_hex'],
    ['service_stamp_hash', { sha256_hex: hash, tier: 'gold' }, 'tier'],
    ['service_stamp_hash', { sha256_hex: hash, metadata: { a: 1 } }, 'metadata'],
    ['service_stamp_hash', 'text', 'arguments'],
    ['service_stamp_content', { content_b64: 'AA-A' }, 'content_b64'],
    ['service_verify_token', {}, 'token_id'],
  ])('%s %j: %s', async (name, given, field) => {
    const { detail } = failureOf(await callTool(service, name, given));
    expect(JSON.stringify(detail)).toContain(field);
  });

  test('errors also name metadata above 4 KB (S4) and content above SEALED_MAX_BYTES (S3)', async () => {
    const large = { sha256_hex: hash, metadata: { a: 'x'.repeat(4096) } };
    expect(failureOf(await callTool(service, 'service_stamp_hash', large))).toMatchObject({ detail: [{ loc: ['arguments', 'metadata'] }] });
    const content_b64 = Buffer.alloc(100_001).toString('base64');
    expect(failureOf(await callTool(service, 'service_stamp_content', { content_b64 }))).toMatchObject({
      code: 'payload_too_large',
      detail: expect.stringContaining('content_b64'),
    });
  });

  test('W17: an upper-case hash is stamped and returned in lower case; the default tier is basic', async () => {
    const { structuredContent } = await callTool(service, 'service_stamp_hash', { sha256_hex: hash.toUpperCase() });
    expect(structuredContent).toMatchObject({ content_sha256: hash, tier: 'basic' });
  });

  test('content of exactly SEALED_MAX_BYTES is stamped, and so is empty content (S2, S3)', async () => {
    for (const content of [Buffer.alloc(100_000), Buffer.alloc(0)]) {
      const { isError } = await callTool(service, 'service_stamp_content', { content_b64: content.toString('base64') });
      expect(isError).toBe(false);
    }
  });
});
