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

const asProduct = { headers: { 'X-Service-Token': serviceToken } };

const sdks: [string, (requestInit: RequestInit) => Promise<Client1 | Client2>][] = [
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
];

describe.each(sdks)('%s over Streamable HTTP', (_name, connect) => {
  test('shakes hands, lists the tools, and pings without a token (M1, M2, M8)', async () => {
    const client = await connect({});
    expect(client.getServerVersion()).toEqual({ name: 'qstamp', version: '0.1.0' });
    expect(client.getServerCapabilities()).toEqual({ tools: {} });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(toolNames);
    await client.ping();
    await client.close();
  });

  test('stamps a hash and verifies it by id and by token (M4, M5)', async () => {
    const client = await connect(asProduct);
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

async function negotiate(requestInit: RequestInit) {
  const client = new Client2(identity, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new Transport2(address(), { requestInit }));
  return client;
}

describe('@modelcontextprotocol/client 2.x that negotiates', () => {
  test('M11: negotiates 2026-07-28, lists the tools, and stamps and verifies a file', async () => {
    const client = await negotiate(asProduct);
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
    await client.close();
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
const noToken = 'A valid service token is required';

describe('M5: the reason of a failure arrives as text, also if the client has read the outputSchemas', () => {
  test.each([...sdks, ['@modelcontextprotocol/client 2.x that negotiates', negotiate] as const])('%s', async (_name, connect) => {
    const told = async (client: Client1 | Client2, name: string, given: JsonObject) => {
      const called = client.callTool({ name, arguments: given }) as Promise<ToolResult>;
      return called.then(({ isError, content }) => `${isError} ${content[0]?.text}`, String);
    };
    const [client, stranger] = [await connect(asProduct), await connect({})];
    for (const each of [client, stranger]) await each.listTools();
    for (const [name, given, reason] of failures) expect(await told(client, name, given), name).toContain(reason);
    for (const name of toolNames) expect(await told(stranger, name, {}), name).toContain(noToken);
    for (const each of [client, stranger]) await each.close();
  });

  test.each([...failures, ['verify_file_hash', {}, noToken] as const])('the Inspector: %s %j: %s', async (name, given, reason) => {
    const args = Object.entries(given).flatMap(([key, value]) => [
      '--tool-arg',
      `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ]);
    const header = reason === noToken ? [] : ['--header', `X-Service-Token: ${serviceToken}`];
    const { stdout, stderr } = await inspect('--method', 'tools/call', '--tool-name', name, ...args, ...header);
    expect(stdout + stderr).toContain(reason);
  });
});

/** Runs the command line of the Inspector; resolves when it ends, whatever its exit code. */
async function inspect(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const home = mkdtempSync(join(tmpdir(), 'qstamp-inspector-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const inspector = join(checkoutDir, 'node_modules/.bin/mcp-inspector');
  const command = [inspector, '--cli', address().href, '--stored-auth-only', ...args];
  const ended = promisify(execFile)(process.execPath, command, { env: { ...inherited, HOME: home }, cwd: home });
  return ended.catch((error: { stdout: string; stderr: string }) => error);
}

test('the command line of the Inspector lists the tools and finds no schema that an assistant would reject (M2)', async () => {
  const { stdout, stderr } = await inspect('--method', 'tools/list', '--strict');
  expect(stderr).not.toMatch(/warning|error/i);
  expect((JSON.parse(stdout) as { tools: { name: string }[] }).tools.map(({ name }) => name)).toEqual(toolNames);
});
