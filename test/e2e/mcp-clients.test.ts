import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { inherited } from '../support/environment.ts';
import type { ToolResult } from '../support/mcp.ts';
import { randomHash, sha256, verifyById } from '../support/requests.ts';
import { type Service, serviceToken, startService } from '../support/service.ts';

// The Inspector is a large program to start.
vi.setConfig({ testTimeout: 120_000 });

let service: Service;
beforeAll(async () => {
  service = await startService({ keep: true });
});
afterAll(() => service.stop());

const identity = { name: 'qstamp-test', version: '1.0.0' };
const tokenHeader = { 'X-Service-Token': serviceToken };
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

/** What both generations of the client have in common, once they are connected. */
interface ConnectedClient {
  serverInfo(): unknown;
  capabilities(): unknown;
  ping(): Promise<unknown>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(name: string, given: Record<string, unknown>): Promise<ToolResult>;
  close(): Promise<void>;
}

const address = () => new URL(`${service.url}/mcp`);

async function connectSdk1(headers: Record<string, string>): Promise<ConnectedClient> {
  const client = new Client1(identity);
  // The SDK's own types disagree about optional members (exactOptionalPropertyTypes).
  await client.connect(new Transport1(address(), { requestInit: { headers } }) as Transport);
  return {
    serverInfo: () => client.getServerVersion(),
    capabilities: () => client.getServerCapabilities(),
    ping: () => client.ping(),
    listTools: () => client.listTools(),
    callTool: async (name, given) => (await client.callTool({ name, arguments: given })) as ToolResult,
    close: () => client.close(),
  };
}

async function connectSdk2(headers: Record<string, string>): Promise<ConnectedClient> {
  const client = new Client2(identity);
  await client.connect(new Transport2(address(), { requestInit: { headers } }));
  return {
    serverInfo: () => client.getServerVersion(),
    capabilities: () => client.getServerCapabilities(),
    ping: () => client.ping(),
    listTools: () => client.listTools(),
    callTool: async (name, given) => (await client.callTool({ name, arguments: given })) as ToolResult,
    close: () => client.close(),
  };
}

describe.each([
  ['@modelcontextprotocol/sdk 1.x', connectSdk1],
  ['@modelcontextprotocol/client 2.x', connectSdk2],
])('%s over Streamable HTTP', (_name, connect) => {
  test('shakes hands, lists the tools, and pings without a token (M1, M2, M8)', async () => {
    const client = await connect({});
    expect(client.serverInfo()).toEqual({ name: 'qstamp', version: '0.1.0' });
    expect(client.capabilities()).toEqual({ tools: {} });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(toolNames);
    await client.ping();
    await client.close();
  });

  test('stamps a hash and verifies it by id and by token (M4, M5)', async () => {
    const client = await connect(tokenHeader);
    const hash = randomHash();
    const { isError, structuredContent: stamp } = await client.callTool('service_stamp_hash', { sha256_hex: hash });
    expect(isError).toBe(false);
    for (const given of [{ token_id: stamp.token_id }, { token: stamp.token }]) {
      const { structuredContent } = await client.callTool('service_verify_token', given);
      expect(structuredContent).toMatchObject({ valid: true, token_id: stamp.token_id, content_sha256: hash });
    }
    expect((await verifyById(service, stamp.token_id)).body).toMatchObject({ valid: true });
    await client.close();
  });

  test('stamps content (M3) and reads the fault of a bad argument (M6)', async () => {
    const client = await connect(tokenHeader);
    const sealed = await client.callTool('service_stamp_content', { content_b64: Buffer.from('hello').toString('base64') });
    expect(sealed.structuredContent).toMatchObject({ tier: 'sealed', content_sha256: sha256('hello') });
    const refused = await client.callTool('service_stamp_hash', { sha256_hex: 'too short' });
    expect(refused.isError).toBe(true);
    expect(refused.content[0]?.text).toContain('sha256_hex');
    await client.close();
  });

  test('fails an unknown tool with −32602, and goes on', async () => {
    const client = await connect(tokenHeader);
    await expect(client.callTool('no_such_tool', {})).rejects.toMatchObject({ code: -32602 });
    await client.ping();
    await client.close();
  });

  test('fails a call without a token, and is led into no OAuth (M7)', async () => {
    const client = await connect({});
    await expect(client.callTool('service_stamp_hash', { sha256_hex: randomHash() })).rejects.toThrow(/service token/i);
    await client.close();
  });
});

describe('@modelcontextprotocol/client 2.x that negotiates', () => {
  test('M11: finds 2026-07-28, lists the tools, and stamps and verifies a file without a service token', async () => {
    const client = new Client2(identity, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new Transport2(address()));
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect(client.getServerVersion()).toMatchObject({ name: 'qstamp' });
    // The client holds every result to the outputSchema that it was told here.
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

describe("the Inspector's command line", () => {
  const home = mkdtempSync(join(tmpdir(), 'qstamp-inspector-'));
  afterAll(() => rmSync(home, { recursive: true }));

  function inspect(args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const command = [join(checkoutDir, 'node_modules/.bin/mcp-inspector'), '--cli', address().href, '--stored-auth-only', ...args];
    const env = { ...inherited, HOME: home };
    return new Promise((resolve) => {
      execFile(process.execPath, command, { env, cwd: home }, (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr });
      });
    });
  }

  test('lists the tools and finds nothing in their schemas that some assistant would not take (M2)', async () => {
    const { code, stdout, stderr } = await inspect(['--method', 'tools/list', '--strict']);
    expect(stderr).not.toMatch(/warning|error/i);
    expect(code).toBe(0);
    expect((JSON.parse(stdout) as { tools: { name: string }[] }).tools.map(({ name }) => name)).toEqual(toolNames);
  });

  test('stamps a hash', async () => {
    const hash = randomHash();
    const call = ['--header', `X-Service-Token: ${serviceToken}`, '--method', 'tools/call', '--tool-name', 'service_stamp_hash'];
    const stamped = await inspect([...call, '--tool-arg', `sha256_hex=${hash}`, 'tier=plus']);
    expect(stamped).toMatchObject({ code: 0 });
    const { token_id } = (JSON.parse(stamped.stdout) as ToolResult).structuredContent;
    expect((await verifyById(service, token_id)).body).toMatchObject({ valid: true, content_sha256: hash });
  });

  test('without a token it is told that it needs one, and fails (M7)', async () => {
    const { code, stdout } = await inspect(['--method', 'tools/call', '--tool-name', 'service_stamp_hash', '--tool-arg', 'sha256_hex=x']);
    expect(code).not.toBe(0);
    expect(stdout).toBe('');
  });
});
