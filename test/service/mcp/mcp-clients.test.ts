import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { checkoutDir } from '../../../scripts/stack/context.ts';
import { inherited } from '../../support/environment.ts';
import type { ToolResult } from '../../support/mcp.ts';
import { type JsonObject, randomHash } from '../../support/requests.ts';
import { serviceToken, sharedService } from '../../support/service.ts';

// The Inspector is a large program to start.
vi.setConfig({ testTimeout: 120_000 });

const service = await sharedService();

const identity = { name: 'qstamp-test', version: '1.0.0' };
const toolNames = [
  'service_stamp_hash',
  'service_stamp_content',
  'service_verify_token',
  'stamp_file_hashes',
  'workflow_start',
  'workflow_status',
  'workflow_stamp_output',
  'workflow_complete',
  'workflow_bundle',
  'verify_file_hash',
];

const address = () => new URL(`${service.url}/mcp`);

describe.each<[string, (requestInit: RequestInit) => Promise<Client1 | Client2>]>([
  [
    '@modelcontextprotocol/sdk 1.x',
    async (requestInit) => {
      const client = new Client1(identity);
      // The SDK's own types disagree about optional members (exactOptionalPropertyTypes).
      await client.connect(new Transport1(address(), { requestInit }) as Transport);
      return client;
    },
  ],
  [
    '@modelcontextprotocol/client 2.x',
    async (requestInit) => {
      const client = new Client2(identity);
      await client.connect(new Transport2(address(), { requestInit }));
      return client;
    },
  ],
])('%s over Streamable HTTP', (_name, connect) => {
  test('shakes hands, lists the tools, and pings without a token (M1, M2, M8)', async () => {
    const client = await connect({});
    expect(client.getServerVersion()).toEqual({ name: 'qstamp', version: '0.1.0' });
    expect(client.getServerCapabilities()).toEqual({ tools: {} });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(toolNames);
    await client.ping();
    await client.close();
  });

  test('stamps a hash and verifies it by id and by token (M4, M5)', async () => {
    const client = await connect({ headers: { 'X-Service-Token': serviceToken } });
    const call = async (name: string, given: JsonObject) => (await client.callTool({ name, arguments: given })) as ToolResult;
    const hash = randomHash();
    const { isError, structuredContent: stamp } = await call('service_stamp_hash', { sha256_hex: hash });
    expect(isError).toBe(false);
    for (const given of [{ token_id: stamp.token_id }, { token: stamp.token }]) {
      const { structuredContent } = await call('service_verify_token', given);
      expect(structuredContent).toMatchObject({ valid: true, token_id: stamp.token_id, content_sha256: hash });
    }
    await client.close();
  });
});

describe('@modelcontextprotocol/client 2.x that negotiates', () => {
  test('M11: negotiates 2026-07-28, lists the tools, and stamps and verifies a file without a service token', async () => {
    const client = new Client2(identity, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new Transport2(address()));
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect(client.getServerVersion()).toMatchObject({ name: 'qstamp' });
    // The client checks every result against the outputSchema that it got here.
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(toolNames);
    const hash = randomHash();
    const call = async (name: string, given: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: given })) as unknown as ToolResult;
    const { structuredContent: stamped } = await call('stamp_file_hashes', { files: [{ name: 'größe.txt', sha256_hex: hash }] });
    const [{ token_id }] = stamped.files as [{ token_id: string }];
    expect((await call('verify_file_hash', { sha256_hex: hash, token_id })).structuredContent).toMatchObject({
      verified: false,
      issued_at: expect.any(String),
      reason: expect.stringMatching(/^test_stamp: /),
      not_checked: expect.any(Array),
    });
    expect((await call('service_verify_token', { token_id }).catch((error: Error) => error.message)) as unknown).toMatch(/service token/i);
    await client.close();
  });
});

test('the command line of the Inspector lists the tools and finds no schema that an assistant would reject (M2)', async () => {
  const home = mkdtempSync(join(tmpdir(), 'qstamp-inspector-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const inspector = join(checkoutDir, 'node_modules/.bin/mcp-inspector');
  const args = [inspector, '--cli', address().href, '--stored-auth-only', '--method', 'tools/list', '--strict'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env: { ...inherited, HOME: home }, cwd: home });
  expect(stderr).not.toMatch(/warning|error/i);
  expect((JSON.parse(stdout) as { tools: { name: string }[] }).tools.map(({ name }) => name)).toEqual(toolNames);
});
