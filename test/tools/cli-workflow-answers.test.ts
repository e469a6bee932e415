import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { workflowRedact, workflowResend, workflowStart, workflowStatus } from '../../src/cli/commands/workflow.ts';
import { workflowAdd } from '../../src/cli/commands/workflow-add.ts';
import { folderWith, sendJson, startStub } from '../support/cli.ts';

const workflowId = '01890a5d-ac96-774b-bcce-b302099a8057';
const stampId = '01890a5d-ac96-774b-bcce-b302099a8058';
const authorization = 'Workflow secret-token';
const workflowFile = JSON.stringify({
  qstamp: 1,
  kind: 'workflow',
  service: 'http://127.0.0.1:9',
  workflow_id: workflowId,
  workflow_token: 'secret-token',
  expires_at: '2026-01-09T00:00:00Z',
});
const commands = [workflowStart, workflowAdd, workflowStatus, workflowResend, workflowRedact];
const inFolder = (files: Record<string, string> = {}) => folderWith(commands, { 'qstamp-workflow.json': workflowFile, ...files });

describe('status (W16)', () => {
  const state = {
    workflow_id: workflowId,
    status: 'pending',
    tier: 'verified',
    created_at: '2026-01-02T00:00:00Z',
    expires_at: '2026-01-09T00:00:00Z',
    confirmed_at: null,
    completed_at: null,
    output_count: 1,
    chain_hash: 'ab'.repeat(32),
    merkle_root: null,
    verify_url: `/workflow/${workflowId}`,
    agent_id: 'agent-7',
    user_email: 'client@example.com',
    briefing_metadata: null,
    mail: { status: 'sent', attempts: 1, sent_at: '2026-01-02T00:00:01Z' },
  };

  test('shows the answer of the service, and that it comes from the service (V9)', async () => {
    const { url, seen } = await startStub((response) => sendJson(response, 200, state));
    const { code, stdout } = await inFolder().run(['workflow', 'status'], { url });
    expect(code).toBe(0);
    expect(stdout.trimEnd().split('\n  ')).toEqual([
      `the service says: workflow ${workflowId} is waiting for the client, 1 output, tier verified`,
      'agent agent-7',
      'link mailed to client@example.com at 2026-01-02T00:00:01.000Z',
      'started at 2026-01-02T00:00:00.000Z',
      'e-mail address not confirmed',
      'open until 2026-01-09T00:00:00.000Z',
      `page ${url}/workflow/${workflowId}`,
    ]);
    expect(seen).toEqual([
      expect.objectContaining({ line: `GET /api/v1/workflow/${workflowId}`, headers: expect.objectContaining({ authorization }) }),
    ]);
  });

  const closed = {
    status: 'completed',
    confirmed_at: '2026-01-03T00:00:00Z',
    completed_at: '2026-01-04T00:00:00Z',
    output_count: 2,
    merkle_root: 'cd'.repeat(32),
  };
  const times = 'e-mail address confirmed at 2026-01-03T00:00:00.000Z\n  completed at 2026-01-04T00:00:00.000Z';
  const waiting = { status: 'waiting', attempts: 0, sent_at: null };
  const failed = { status: 'failed', attempts: 9, sent_at: null };
  test.each([
    ['closed', closed, `${times}\n  Merkle root ${'cd'.repeat(32)}`, /open until/],
    ['words that would command the terminal', { agent_id: 'x\nforged' }, 'agent x forged', /\nforged/],
    [
      'redacted (W10)',
      { agent_id: '[REDACTED]', user_email: '[REDACTED]' },
      'client erased: e-mail address and agent are permanently deleted',
      /REDACTED|mailed to/,
    ],
    ['a mail that waits', { mail: waiting }, 'mail to client@example.com not sent yet, tried 0 times', /mailed to/],
    [
      'a mail that failed',
      { mail: failed },
      'mail to client@example.com given up after 9 times; "qstamp workflow resend" tries again',
      /mailed to/,
    ],
  ])('tells %s', async (_what, changes, line, never) => {
    const { url } = await startStub((response) => sendJson(response, 200, { ...state, ...changes }));
    const { stdout } = await inFolder().run(['workflow', 'status'], { url });
    expect(stdout).toContain(`\n  ${line}\n`);
    expect(stdout).not.toMatch(never);
  });
});

describe('redact (W10)', () => {
  const redacted = { workflow_id: workflowId, status: 'active', user_email: '[REDACTED]' };

  test('asks first, because it cannot be undone', async () => {
    const { url, seen } = await startStub((response) => sendJson(response, 200, redacted));
    const { run } = inFolder();
    expect((await run(['workflow', 'redact'], { url })).code).toBe(2);
    const { code, asked } = await run(['workflow', 'redact'], { url, answer: 'n' });
    expect([code, asked]).toEqual([2, [expect.stringMatching(/the agent's id and all metadata .* cannot be undone/)]]);
    expect(seen).toEqual([]);
    expect((await run(['workflow', 'redact'], { url, answer: 'y' })).code).toBe(0);
    expect((await run(['workflow', 'redact', '--yes'], { url })).code).toBe(0);
    expect(seen.map(({ line }) => line)).toEqual(Array(2).fill(`POST /api/v1/workflow/${workflowId}/redact-pii`));
  });
});

describe('add', () => {
  const output = {
    output_id: stampId,
    sequence_number: 3,
    stamp_token_id: stampId,
    verify_url: `/workflow/${workflowId}#output-3`,
    workflow_anchor_url: `/workflow/${workflowId}`,
  };
  const startAdding = (answerToken: Parameters<typeof startStub>[0]) =>
    startStub((response, request, attempt) => {
      if (request.line.endsWith('/stamp')) sendJson(response, 201, output);
      else answerToken(response, request, attempt);
    });

  test('keeps the whole token, so that the output is verified without the service', async () => {
    const { url, seen } = await startAdding((response) => void response.writeHead(200).end(Buffer.from([0x30, 0])));
    const { run, json } = inFolder({ 'a.txt': 'a' });
    const { code, stdout } = await run(['workflow', 'add', 'a.txt'], { url });
    expect([code, stdout]).toEqual([0, 'a.txt (1 byte): output 3 (text), saved as a.txt.qstamp.json\n']);
    expect(seen.map(({ line }) => line)).toEqual([
      `POST /api/v1/workflow/${workflowId}/stamp`,
      `GET /api/v1/verify/v1/token/${stampId}/token`,
    ]);
    expect(json('a.txt.qstamp.json')).toMatchObject({ kind: 'workflow_output', output, token: 'MAA=', workflow_id: workflowId });
  });

  test('adds the files of a folder in the order of their paths, stops at the first failure, and goes on when it is run again', async () => {
    const { url, seen } = await startStub((response, { line }, attempt) => {
      if (!line.endsWith('/stamp')) sendJson(response, 404, { detail: 'None.' });
      else if (attempt !== 5) sendJson(response, 201, output);
      else sendJson(response, 409, { detail: 'The workflow has ended.' });
    });
    const { run, path } = inFolder();
    mkdirSync(path('out/sub'), { recursive: true });
    for (const name of ['out/z.txt', 'out/b.txt', 'out/sub/a.txt', 'out/a.txt']) writeFileSync(path(name), name);
    const { code, stdout, stderr } = await run(['workflow', 'add', 'out'], { url });
    expect([code, stdout.split('\n').at(-2), stderr]).toEqual([
      3,
      '4 files: 2 stamped, 1 failed, 1 not tried',
      'out/sub/a.txt: the service answered 409: The workflow has ended.\n',
    ]);
    expect((await run(['workflow', 'add', 'out'], { url })).stdout.split('\n').at(-2)).toBe('4 files: 2 already stamped, 2 stamped');
    writeFileSync(path('out/b.txt'), 'changed');
    expect(await run(['workflow', 'add', 'out'], { url })).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/^out\/b\.txt: it was stamped as output 3 /),
    });
    const hashes = seen.filter(({ line }) => line.endsWith('/stamp')).map(({ body }) => JSON.parse(body).output_hash);
    expect(hashes).toEqual(
      ['out/a.txt', 'out/b.txt', 'out/sub/a.txt', 'out/sub/a.txt', 'out/z.txt'].map((name) =>
        createHash('sha256').update(name).digest('hex'),
      ),
    );
  });

  test('saves no token of the mock provider', async () => {
    const { url } = await startAdding((response) => sendJson(response, 404, { detail: 'None.' }));
    const { run, json } = inFolder({ 'a.txt': 'a' });
    expect((await run(['workflow', 'add', 'a.txt'], { url })).code).toBe(0);
    expect(json('a.txt.qstamp.json')).toMatchObject({ output, token: null });
  });

  test('an output is saved even if its token cannot be fetched, with a message: exit code 4', async () => {
    const { url } = await startAdding((response) => sendJson(response, 500, { detail: 'Broken.' }));
    const { run, json } = inFolder({ 'a.txt': 'a', 'b.txt': 'b' });
    const { code, stderr } = await run(['workflow', 'add', 'a.txt', 'b.txt'], { url });
    expect([code, stderr]).toEqual([
      4,
      expect.stringMatching(/^a\.txt: output 3 was stamped and saved, but its time-stamp token .*--online\n$/),
    ]);
    expect(json('a.txt.qstamp.json')).toMatchObject({ output, token: null });
    const again = await run(['workflow', 'add', 'a.txt'], { url });
    expect([again.code, again.stderr]).toEqual([5, expect.stringContaining('stamped as output 3 of a workflow')]);
  });
});

describe('start', () => {
  const hash = createHash('sha256').update('x').digest('hex');
  const line = ['workflow', 'start', '--email', 'a@example.com', '--agent', 'me', '--briefing-hash'];
  const started = {
    workflow_id: workflowId,
    workflow_token: 'secret-token',
    otp_sent_to: 'a@example.com',
    expires_at: '2026-01-09T00:00:00Z',
    status: 'pending',
  };

  test('never overwrites the token of another workflow: exit code 5, without a request', async () => {
    const { url, seen } = await startStub((response) => sendJson(response, 201, started));
    const { run, json } = inFolder();
    expect(await run([...line, hash], { url })).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('--workflow names another file'),
    });
    expect(json('qstamp-workflow.json')).toEqual(JSON.parse(workflowFile));
    expect(seen).toEqual([]);
  });

  test('a refusal of the service leaves no file: exit code 3, with the text of the service', async () => {
    const detail = [{ loc: ['body', 'user_email'], msg: 'not an address', type: 'value_error' }];
    const { url, seen } = await startStub((response) => sendJson(response, 422, { detail }));
    const { run, path } = folderWith(commands, {});
    const sentence = 'qstamp: the service answered 422: user_email: not an address\n';
    expect(await run([...line, hash.toUpperCase()], { url })).toMatchObject({ code: 3, stderr: sentence });
    // W17
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ briefing_hash: hash, user_email: 'a@example.com', agent_id: 'me' });
    expect(existsSync(path('qstamp-workflow.json'))).toBe(false);
  });
});

test.each(['status', 'resend', 'redact', 'add a'])('%s without a workflow explains how to get one: exit code 5', async (command) => {
  const outcome = await folderWith(commands, { a: 'a' }).run(['workflow', ...command.split(' ')]);
  expect(outcome).toMatchObject({ code: 5, stderr: expect.stringContaining('"qstamp workflow start" makes one') });
});
