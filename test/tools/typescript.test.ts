import { openAsBlob, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { runCommand } from '../../scripts/stack/run.ts';
import { installedClient } from '../support/client-package.ts';
import { mailedService } from '../support/mailed-service.ts';
import { recordedFetch } from '../support/recorded-fetch.ts';
import { listStampIds, randomHash, sha256 } from '../support/requests.ts';
import { serviceToken } from '../support/service.ts';
import { openLink } from '../support/workflows.ts';

const installed = await installedClient();
const client = await installed.load();
const { mail, service } = await mailedService();

/** A client of the service; every request is checked against /openapi.json. */
function connect(options: { serviceToken?: string } = {}) {
  const recorded = recordedFetch(service.url);
  return { qstamp: new client.Qstamp({ url: service.url, fetch: recorded.fetch, ...options }), sent: recorded.sent };
}

describe('qstamp-client, packed and installed: stamping', () => {
  const text = 'What an agent wrote. Ünïcödé.\n';

  test('a path, a file URL, a Blob, bytes, a stream, a text and a hash give the same stamp, and only the hash is sent', async () => {
    const { qstamp, sent } = connect();
    const path = join(installed.folder, 'output.txt');
    writeFileSync(path, text);
    const bytes = new TextEncoder().encode(text);
    const stamps = [
      await qstamp.stampFile(path),
      await qstamp.stampFile(pathToFileURL(path)),
      await qstamp.stampFile(await openAsBlob(path)),
      await qstamp.stampBytes(bytes),
      await qstamp.stampBytes(bytes.buffer),
      await qstamp.stampBytes(new Blob([bytes]).stream()),
      await qstamp.stampBytes(Readable.from([...bytes].map((byte) => Uint8Array.of(byte)))),
      await qstamp.stampText(text),
      await qstamp.stampHash(sha256(text).toUpperCase()),
    ];
    expect(stamps.map(({ content_sha256 }) => content_sha256)).toEqual(stamps.map(() => sha256(text)));
    for (const { body } of sent) expect(JSON.parse(body)).toEqual({ hash: sha256(text), tier: 'basic' });
    expect(await qstamp.verify(stamps[0]!.token_id)).toMatchObject({ valid: true, content_sha256: sha256(text) });
    expect(await qstamp.verifyFile(path, stamps[0]!)).toMatchObject({ valid: true });
    expect(qstamp.addressOf(stamps[0]!.verify_url)).toBe(`${service.url}${stamps[0]!.verify_url}`);
  });

  test('a changed file is not valid; a wrong path, or a text instead of bytes, is an error', async () => {
    const { qstamp } = connect();
    const path = join(installed.folder, 'changing.txt');
    writeFileSync(path, 'before');
    const stamp = await qstamp.stampFile(path);
    writeFileSync(path, 'after');
    const result = await qstamp.verifyFile(path, stamp);
    expect([result.valid, client.reasonCodeOf(result)]).toEqual([false, 'imprint_mismatch']);
    expect(() => client.requireValid(result)).toThrow(expect.objectContaining({ name: 'NotValid', code: 'imprint_mismatch' }));
    await expect(qstamp.stampFile(join(installed.folder, 'no such file'))).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(qstamp.stampBytes(path as never)).rejects.toThrow(client.QstampError);
    await expect(qstamp.stampText(Uint8Array.of(1) as never)).rejects.toThrow('stampBytes takes bytes');
    await expect(qstamp.stampHash(undefined as never)).rejects.toThrow('not undefined');
    await expect(qstamp.stampHash('abc')).rejects.toThrow('64 hexadecimal characters');
  });

  test('with a service token, stamps belong to its product; metadata and tier are sent', async () => {
    const { qstamp, sent } = connect({ serviceToken });
    const { token_id, tier } = await qstamp.stampText(text, { tier: 'plus', metadata: { run: '7' } });
    expect(tier).toBe('plus');
    expect(JSON.parse(sent[0]!.body)).toEqual({ hash: sha256(text), tier: 'plus', metadata: { run: '7' } });
    expect(await listStampIds(service)).toContain(token_id);
    for await (const newest of qstamp.listStamps()) {
      expect(newest).toMatchObject({ token_id, tier: 'plus', content_sha256: sha256(text) });
      break;
    }
  });

  test('L1, L2: many in one request, as an agent and for a product; a refused one is a separate error', async () => {
    const hashes = Array.from({ length: 5 }, randomHash);
    const many = hashes.map((hash, index) => (index === 2 ? { hash, metadata: { long: 'x'.repeat(5_000) } } : hash));
    for (const options of [{}, { serviceToken }]) {
      const { qstamp, sent } = connect(options);
      const outcomes = await qstamp.stampMany(many, { tier: 'plus', metadata: { run: '7' } });
      expect(outcomes.map(({ made, error }) => made?.content_sha256 ?? error?.name)).toEqual(hashes.with(2, 'InvalidRequest'));
      expect(outcomes[2]?.error).toMatchObject({ status: 422, requestId: expect.any(String), issues: [{ loc: ['body', 2, 'metadata'] }] });
      expect(outcomes[0]?.made?.tier).toBe('plus');
      expect(sent).toHaveLength(1);
    }
  });

  test('content is sent only on request, in tier sealed', async () => {
    const { qstamp } = connect();
    const content = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251);
    const { tier, content_sha256, sealed_storage_url } = await qstamp.stampBytes(content, { sendContent: true });
    expect([tier, content_sha256]).toEqual(['sealed', sha256(Buffer.from(content))]);
    const kept = await fetch(qstamp.addressOf(String(sealed_storage_url)));
    expect(Buffer.from(await kept.arrayBuffer())).toEqual(Buffer.from(content));
    await expect(qstamp.stampBytes(content, { sendContent: true, tier: 'plus' })).rejects.toThrow('tier sealed');
  });
});

describe('qstamp-client: errors by kind', () => {
  test('E1, E4, S9: a refusal has its status, code, request id and faults', async () => {
    const { qstamp } = connect();
    const faulty = qstamp.stampText('a', { metadata: { a: 'b'.repeat(5_000) } });
    const issues = [{ loc: ['body', 'metadata'] }];
    await expect(faulty).rejects.toMatchObject({ name: 'InvalidRequest', status: 422, requestId: expect.any(String), issues });
    const stranger = connect({ serviceToken: 'wrong' }).qstamp.stampText('a');
    await expect(stranger).rejects.toMatchObject({ name: 'Unauthorized', code: 'unauthorized', requestId: expect.any(String) });
    const idempotencyKey = randomHash();
    await qstamp.stampText('a', { idempotencyKey });
    const reused = qstamp.stampText('b', { idempotencyKey });
    await expect(reused).rejects.toMatchObject({ name: 'Conflict', code: 'idempotency_key_reused' });
    await expect(reused).rejects.toThrow(client.ServiceError);
    const nowhere = qstamp.openWorkflow({ workflow_id: crypto.randomUUID(), workflow_token: 'x' });
    await expect(nowhere.state()).rejects.toThrow(client.NotFound);
  });

  test('another server, an aborted call, and an address that is none', async () => {
    const other = new client.Qstamp({ url: service.url, fetch: async () => new Response('<html>', { status: 200 }) });
    await expect(other.stampText('a')).rejects.toThrow(client.UnexpectedAnswer);
    await expect(connect().qstamp.stampText('a', { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    expect(() => new client.Qstamp({ url: 'stamps.example' })).toThrow('https://');
  });
});

describe('qstamp-client: workflows', () => {
  const start = { user_email: 'client@example.com', agent_id: 'agent-7', briefing: 'Paint a bridge.' };

  test('W8, L4: outputs are numbered in the order of the calls, also many in one request, and the record closes when all are done', async () => {
    const { qstamp } = connect();
    let access = { workflow_id: '', workflow_token: '' };
    const numbers = await qstamp.workflow(start, async (workflow) => {
      access = { workflow_id: workflow.id, workflow_token: workflow.token };
      const made = Promise.all([
        workflow.stampText('one'),
        workflow.stampBytes(Uint8Array.of(2), { output_type: 'image', output_metadata: { page: 2 } }),
        workflow.stampHash(randomHash(), { output_type: 'code' }),
        workflow.stampFile(new Blob(['four'])),
      ]);
      const many = workflow.stampMany(Array.from({ length: 3 }, () => ({ output_hash: randomHash(), output_type: 'image' })));
      return [...(await made), ...(await many).map((each) => each.made)].map((each) => each?.sequence_number);
    });
    expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const listed = (await (await fetch(`${service.url}/workflow/${access.workflow_id}/outputs.json`)).json()) as {
      outputs: { output_type: string }[];
    };
    expect(listed.outputs.slice(0, 4).map(({ output_type }) => output_type)).toEqual(['text', 'image', 'code', 'file']);
    const state = await qstamp.openWorkflow(access).state();
    expect(state).toMatchObject({ status: 'completed', output_count: 7, agent_id: 'agent-7' });
    expect(await qstamp.openWorkflow(access).complete()).toMatchObject({ output_count: 7, status: 'completed' });
  });

  test('if the work fails, the workflow stays open; `await using` waits for its outputs but does not complete it', async () => {
    const { qstamp } = connect();
    let failed = qstamp.openWorkflow({ workflow_id: '', workflow_token: '' });
    const run = qstamp.workflow(start, async (workflow) => {
      failed = workflow;
      throw new RangeError('the tool failed');
    });
    await expect(run).rejects.toThrow(RangeError);
    expect((await failed.state()).status).toBe('pending');
    expect(inspect(failed)).not.toContain(failed.token);

    let used = failed;
    {
      await using workflow = await qstamp.startWorkflow(start);
      used = workflow;
      void workflow.stampText('nobody awaits this');
    }
    expect(await used.state()).toMatchObject({ status: 'pending', output_count: 1 });
  });

  test('W2: in tier verified it waits for the link, which can be mailed again; the address can be erased', async () => {
    const { qstamp } = connect();
    const workflow = await qstamp.startWorkflow({ ...start, tier: 'verified', idempotencyKey: randomHash() });
    await expect(workflow.stampText('too early')).rejects.toThrow(client.Conflict);
    const confirmed = workflow.untilConfirmed();
    await openLink(await mail.linkFor(workflow.id));
    expect((await confirmed).confirmed_at).not.toBeNull();
    await expect(workflow.resendLink()).rejects.toThrow(client.Conflict);
    expect(await workflow.redact()).toMatchObject({ user_email: '[REDACTED]' });
    expect((await fetch(workflow.pageUrl)).status).toBe(200);
  });
});

test('the quickstart of the README runs in plain Node', async () => {
  const readme = readFileSync(join(checkoutDir, 'clients/typescript/README.md'), 'utf8');
  const [, quickstart = ''] = /```ts\n(.*?)```/s.exec(readme) ?? [];
  const program = quickstart.replace('http://127.0.0.1:8080', service.url).replace('dev-service-token', serviceToken);
  writeFileSync(join(installed.folder, 'quickstart.js'), program);
  const printed = await runCommand('node', ['quickstart.js'], { cwd: installed.folder });
  const [stamped = '', page = ''] = printed.trim().split('\n');
  expect(stamped).toMatch(/^\d{4}-.*Z http:\S+$/);
  expect(await (await fetch(page)).text()).toContain('my-agent');
});

test('its types are complete: a strict program compiles with them, without types of Node and with the library of 2022', async () => {
  const program = `import { Pending, Qstamp, type StampToken, verifyWebhook } from 'qstamp-client';
    const qstamp = new Qstamp({ url: 'http://127.0.0.1:8080' });
    export const stamp: Promise<StampToken> = qstamp.stampText('a', { tier: 'plus' });
    export const address = stamp.catch((error: unknown) => (error instanceof Pending ? error.address : undefined));
    export const many = qstamp.stampMany(['a']).then((all) => all.map(({ made, error }) => made?.token_id ?? error?.message));
    export const request = qstamp.later.stampText('a', { maxRetries: 0 }).then(({ lastResponse }) => lastResponse.requestId);
    export async function newest() { for await (const { issued_at } of qstamp.listStamps()) return issued_at; return undefined; }
    export const payload = verifyWebhook('', new Headers(), { secret: '' });
    // @ts-expect-error there is no such tier
    export const wrong = qstamp.stampText('a', { tier: 'gold' });`;
  writeFileSync(join(installed.folder, 'program.ts'), program);
  const language = '--target es2022 --lib es2022,dom,dom.iterable --module esnext --moduleResolution bundler --types'.split(' ');
  const args = ['--ignoreConfig', '--noEmit', '--strict', ...language, '', 'program.ts'];
  await runCommand(process.execPath, [join(checkoutDir, 'node_modules/typescript/bin/tsc'), ...args], { cwd: installed.folder });
});
