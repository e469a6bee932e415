import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, expect, test } from 'vitest';
import type { ToolResult } from '../../support/mcp.ts';
import { type JsonObject, randomHash } from '../../support/requests.ts';
import { serviceToken, sharedService } from '../../support/service.ts';

const service = await sharedService();

const identity = { name: 'qstamp-test', version: '1.0.0' };
const toolNames = [
  ...['service_stamp_hash', 'service_stamp_content', 'service_verify_token', 'stamp_file_hashes', 'workflow_start', 'workflow_status'],
  ...['workflow_stamp_output', 'workflow_complete', 'workflow_bundle', 'verify_file_hash'],
];

const address = () => new URL(`${service.url}/mcp`);

const asProduct = { headers: { 'X-Service-Token': serviceToken } };

type Client = Client1 | Client2;
const clients: [string, (requestInit: RequestInit) => Promise<Client>][] = [
  [
    '@modelcontextprotocol/sdk 1.x',
    async (requestInit) => {
      const client = new Client1(identity);
      // The SDK's own types disagree about optional members (exactOptionalPropertyTypes).
      await client.connect(new Transport1(address(), { requestInit }) as Transport);
      return client;
    },
  ],
  ...(['legacy', 'auto'] as const).map((mode): [string, (requestInit: RequestInit) => Promise<Client>] => [
    `@modelcontextprotocol/client 2.x, ${mode}`,
    async (requestInit) => {
      const client = new Client2(identity, { versionNegotiation: { mode } });
      await client.connect(new Transport2(address(), { requestInit }));
      return client;
    },
  ]),
];

describe.each(clients)('%s over Streamable HTTP', (name, connect) => {
  const isModern = name.endsWith('auto');

  test('M1, M2, M8, M11: shakes hands and lists the tools without a token', async () => {
    const client = await connect({});
    expect(client.getServerVersion()).toMatchObject({ name: 'qstamp', ...(!isModern && { version: '0.1.0' }) });
    expect(client.getServerCapabilities()).toEqual({ tools: {} });
    expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(toolNames);
    if (client instanceof Client2) expect(client.getNegotiatedProtocolVersion()).toBe(isModern ? '2026-07-28' : '2024-11-05');
    if (!isModern) await client.ping();
    await client.close();
  });

  test('M4, M5: stamps and verifies, and gives the reason of a failure as text, also if it has read the outputSchemas', async () => {
    const [client, stranger] = [await connect(asProduct), await connect({})];
    const call = async (of: Client, tool: string, given: JsonObject) =>
      (await of.callTool({ name: tool, arguments: given })) as unknown as ToolResult;
    const told = async (of: Client, tool: string, given: JsonObject) =>
      call(of, tool, given).then(({ isError, content }) => `${isError} ${content[0]?.text}`, String);
    for (const each of [client, stranger]) await each.listTools();
    const files = [{ name: 'größe.txt', sha256_hex: randomHash() }];
    const { structuredContent: stamp } = await call(client, 'service_stamp_hash', { sha256_hex: files[0]!.sha256_hex });
    for (const given of [{ token_id: stamp.token_id }, { token: stamp.token }]) {
      const { structuredContent } = await call(client, 'service_verify_token', given);
      expect(structuredContent).toMatchObject({ valid: true, token_id: stamp.token_id, content_sha256: files[0]!.sha256_hex });
    }
    expect((await call(client, 'stamp_file_hashes', { files })).structuredContent).toMatchObject({ files });
    const verified = await call(client, 'verify_file_hash', { sha256_hex: files[0]!.sha256_hex, token_id: stamp.token_id });
    expect(verified.structuredContent).toMatchObject({ verified: false, reason: expect.stringMatching(/^test_stamp: /) });
    for (const [tool, given, reason] of failures) expect(await told(client, tool, given), tool).toContain(reason);
    for (const tool of toolNames) expect(await told(stranger, tool, {}), tool).toContain('A valid service token is required');
    for (const each of [client, stranger]) await each.close();
  });
});

const id = '01890a5d-ac96-774b-bcce-b302099a8057';
const hash = 'a'.repeat(64);
/** For each tool, arguments with which it fails, and words of the reason. */
const failures: [tool: string, given: JsonObject, reason: string][] = [
  ['service_stamp_hash', { sha256_hex: 'x' }, 'sha256_hex'],
  ['service_stamp_content', { content_b64: '-' }, 'content_b64'],
  ['service_stamp_content', { content_b64: 'AAAA', tier: 'basic' }, 'tier'],
  ['service_verify_token', { token_id: 'x' }, 'token_id'],
  ['stamp_file_hashes', { files: [{ sha256_hex: 'x' }] }, 'sha256_hex'],
  ['workflow_start', { user_email: 'x', agent_id: 'a', briefing_hash: hash }, 'user_email'],
  ['workflow_status', { workflow_id: id }, 'no workflow with this id'],
  ['workflow_stamp_output', { workflow_id: id, workflow_token: 'x', output_hash: hash, output_type: 'text' }, 'no workflow with'],
  ['workflow_complete', { workflow_id: id, workflow_token: 'x' }, 'no workflow with this id'],
  ['workflow_bundle', { workflow_id: id }, 'no workflow with this id'],
  ['verify_file_hash', { sha256_hex: hash }, 'exactly one of'],
  ['verify_file_hash', { sha256_hex: hash, workflow_id: id }, 'no workflow with this id'],
  ['no_such_tool', {}, 'no_such_tool'],
];
