import { existsSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Files, folderWith, nowhere, sendJson, startStub } from '../support/cli.ts';
import { sha256 } from '../support/requests.ts';

const workflowId = '01890a5d-ac96-774b-bcce-b302099a8057';
const stampId = '01890a5d-ac96-774b-bcce-b302099a8058';
const expires_at = '2026-01-09T00:00:00Z';
const ownAt = (service: string) => ({
  qstamp: 1,
  kind: 'workflow',
  service,
  workflow_id: workflowId,
  workflow_token: 'secret-token',
  expires_at,
});
const inFolder = (files: Files = {}, url = nowhere) => {
  const { run, ...folder } = folderWith({ 'qstamp-workflow.json': JSON.stringify(ownAt(url)), ...files }, { url });
  return {
    ...folder,
    run: (line: string, answer?: string) => run(['workflow', ...line.split(' ')], answer === undefined ? {} : { answer }),
  };
};

const openState = {
  workflow_id: workflowId,
  status: 'pending',
  tier: 'verified',
  created_at: '2026-01-02T00:00:00Z',
  expires_at,
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

describe('status (W16)', () => {
  test('shows the answer of the service, and that it comes from the service (V9)', async () => {
    const { url, seen } = await startStub((response) => sendJson(response, 200, openState));
    const { code, stdout } = await inFolder({}, url).run('status');
    expect([code, ...stdout.trimEnd().split('\n  ')]).toEqual([
      0,
      `the service says: workflow ${workflowId} is waiting for the client, 1 output, tier verified`,
      'agent agent-7',
      'link mailed to client@example.com at 2026-01-02T00:00:01.000Z',
      'started at 2026-01-02T00:00:00.000Z',
      'e-mail address not confirmed',
      'open until 2026-01-09T00:00:00.000Z',
      `page ${url}/workflow/${workflowId}`,
    ]);
    expect(seen).toMatchObject([{ line: `GET /api/v1/workflow/${workflowId}`, headers: { authorization: 'Workflow secret-token' } }]);
  });

  const times = { confirmed_at: '2026-01-03T00:00:00Z', completed_at: '2026-01-04T00:00:00Z' };
  const closed = { status: 'completed', ...times, output_count: 2, merkle_root: 'cd'.repeat(32) };
  const shown = 'e-mail address confirmed at 2026-01-03T00:00:00.000Z\n  completed at 2026-01-04T00:00:00.000Z';
  const erased = { agent_id: '[REDACTED]', user_email: '[REDACTED]' };
  const mail = (status: string, attempts: number) => ({ mail: { status, attempts, sent_at: null } });
  const again = 'mail to client@example.com given up after 9 times; "qstamp workflow resend" tries again';
  test.each([
    ['closed', closed, `${shown}\n  Merkle root ${'cd'.repeat(32)}`, /open until/],
    ['words that would command the terminal', { agent_id: 'x\nforged' }, 'agent x forged', /\nforged/],
    ['redacted (W10)', erased, 'client erased: e-mail address and agent are permanently deleted', /REDACTED|mailed to/],
    ['a mail that waits', mail('waiting', 0), 'mail to client@example.com not sent yet, tried 0 times', /mailed to/],
    ['a mail that failed', mail('failed', 9), again, /mailed to/],
  ])('tells %s', async (_what, changes, line, never) => {
    const { url } = await startStub((response) => sendJson(response, 200, { ...openState, ...changes }));
    const { stdout } = await inFolder({}, url).run('status');
    expect(stdout).toContain(`\n  ${line}\n`);
    expect(stdout).not.toMatch(never);
  });
});

test('complete asks before it closes a workflow without outputs, and only then', async () => {
  const verify_url = `/workflow/${workflowId}`;
  const state = { ...openState, output_count: 0 };
  const closed = { workflow_id: workflowId, status: 'completed', completed_at: expires_at, output_count: 0, merkle_root: 'ab'.repeat(32) };
  const inState = async (changes: object) => {
    const { url, seen } = await startStub((response, { line }) =>
      sendJson(
        response,
        200,
        line.endsWith('/complete') ? { ...closed, chain_hash: 'ab'.repeat(32), verify_url } : { ...state, ...changes },
      ),
    );
    return { ...inFolder({}, url), closings: () => seen.filter(({ line }) => line.endsWith('/complete')).length };
  };
  const empty = await inState({});
  expect(await empty.run('complete', 'n')).toMatchObject({ code: 2, asked: [expect.stringMatching(/has no outputs\. Close it\?/)] });
  expect([await empty.run('complete'), empty.closings()]).toEqual([
    expect.objectContaining({ code: 2, stderr: expect.stringContaining('--yes') }),
    0,
  ]);
  for (const [line, answer] of [['complete', 'y'], ['complete --yes']] as const)
    expect(await empty.run(line, answer)).toMatchObject({ code: 0, stderr: '' });
  expect(empty.closings()).toBe(2);
  for (const changes of [{ output_count: 1 }, { status: 'completed', completed_at: expires_at }]) {
    const { run, closings } = await inState(changes);
    expect([await run('complete'), closings()]).toEqual([expect.objectContaining({ code: 0, asked: [] }), 1]);
  }
});

test('W10: redact asks first, because it cannot be undone', async () => {
  const redacted = { workflow_id: workflowId, status: 'active', user_email: '[REDACTED]' };
  const { url, seen } = await startStub((response) => sendJson(response, 200, redacted));
  const { run } = inFolder({}, url);
  const refused = await run('redact', 'n');
  expect(refused.asked).toEqual([expect.stringMatching(/the agent's id and all metadata .* cannot be undone/)]);
  expect([refused.code, (await run('redact')).code, seen]).toEqual([2, 2, []]);
  expect([(await run('redact', 'y')).code, (await run('redact --yes')).code]).toEqual([0, 0]);
  expect(seen.map(({ line }) => line)).toEqual(Array(2).fill(`POST /api/v1/workflow/${workflowId}/redact-pii`));
});

describe('add', () => {
  const verify_url = `/workflow/${workflowId}#output-3`;
  const output = { output_id: stampId, sequence_number: 3, stamp_token_id: stampId, verify_url, workflow_anchor_url: '/x' };

  test.each([
    ['keeps the whole token, so that the output is verified without the service', 200, Buffer.from([0x30, 0]), 'MAA='],
    ['saves no token of the mock provider', 404, '{"detail":"None."}', null],
  ])('%s', async (_what, status, answer, token) => {
    const { url, seen } = await startStub((response, { line }) => {
      if (line.includes('/stamp?')) sendJson(response, 201, output);
      else response.writeHead(status, { 'content-type': 'application/json' }).end(answer);
    });
    const { run, json } = inFolder({ 'a.txt': 'a' }, url);
    expect(await run('add a.txt')).toMatchObject({ code: 0, stdout: 'a.txt (1 byte): output 3 (text), saved as a.txt.qstamp.json\n' });
    const asked = [`POST /api/v1/workflow/${workflowId}/stamp?details=true`, `GET /api/v1/verify/v1/token/${stampId}/token`];
    expect(seen.map(({ line }) => line)).toEqual(asked);
    expect(json('a.txt.qstamp.json')).toMatchObject({ kind: 'workflow_output', output, token, workflow_id: workflowId });
  });

  test('an output is saved even if its token cannot be fetched, with a message: exit code 4', async () => {
    const { url } = await startStub((response, { line }) =>
      line.includes('/stamp?') ? sendJson(response, 201, output) : sendJson(response, 500, { detail: 'Broken.' }),
    );
    const { run, json } = inFolder({ 'a.txt': 'a', 'b.txt': 'b' }, url);
    const said =
      /^a\.txt: output 3 was stamped and saved, and the service verifies it, but its time-stamp token .*: the service answered 500: Broken\.\n$/;
    expect(await run('add a.txt b.txt')).toMatchObject({ code: 4, stderr: expect.stringMatching(said) });
    expect(json('a.txt.qstamp.json')).toMatchObject({ output, token: null });
    const again = { code: 5, stderr: expect.stringContaining('stamped as output 3 of a workflow') };
    expect(await run('add a.txt')).toMatchObject(again);
  });

  test('adds the files of a folder in the order of their paths, stops at the first failure, and goes on when it is run again', async () => {
    const { url, seen } = await startStub((response, { line }, attempt) => {
      if (!line.includes('/stamp?')) sendJson(response, 404, { detail: 'None.' });
      else if (attempt !== 5) sendJson(response, 201, output);
      else sendJson(response, 409, { detail: 'The workflow has ended.' });
    });
    const names = ['out/a.txt', 'out/b.txt', 'out/sub/a.txt', 'out/z.txt'];
    const { run, path } = inFolder(Object.fromEntries(names.toReversed().map((name) => [name, name])), url);
    const add = async () => {
      const { stdout, ...outcome } = await run('add out');
      return { ...outcome, summary: stdout.split('\n').at(-2) };
    };
    const stderr = 'out/sub/a.txt: the service answered 409: The workflow has ended.\n';
    expect(await add()).toMatchObject({ code: 3, summary: '4 files: 2 stamped, 1 failed, 1 not tried', stderr });
    expect(await add()).toMatchObject({ code: 0, summary: '4 files: 2 already stamped, 2 stamped' });
    // An earlier run may have ended before it had the token, so that it is asked for again.
    expect(seen.filter(({ line }) => line.endsWith('/token'))).toHaveLength(6);
    writeFileSync(path('out/b.txt'), 'changed');
    expect(await add()).toMatchObject({ code: 5, stderr: expect.stringMatching(/^out\/b\.txt: it was stamped as output 3 /) });
    const hashes = seen.filter(({ line }) => line.includes('/stamp?')).map(({ body }) => JSON.parse(body).output_hash);
    expect(hashes).toEqual([names[0], names[1], names[2], names[2], names[3]].map((name) => sha256(name!)));
  });
});

test('start leaves no file after a refusal, and never overwrites the token of another workflow', async () => {
  const detail = [{ loc: ['body', 'user_email'], msg: 'not an address', type: 'value_error' }];
  const { url, seen } = await startStub((response) => sendJson(response, 422, { detail }));
  const line = `start --email a@example.com --agent me --briefing-hash ${sha256('x').toUpperCase()}`;
  const { run, json, path } = inFolder({}, url);
  expect(await run(line)).toMatchObject({ code: 5, stderr: expect.stringContaining('--workflow names another file') });
  expect([json('qstamp-workflow.json'), seen]).toEqual([ownAt(url), []]);
  const stderr = 'qstamp: the service answered 422: user_email: not an address\n';
  expect(await run(`${line} --workflow other.json`)).toMatchObject({ code: 3, stderr });
  expect(existsSync(path('other.json'))).toBe(false);
  // W17
  expect(JSON.parse(seen[0]!.body)).toMatchObject({ briefing_hash: sha256('x'), user_email: 'a@example.com', agent_id: 'me' });
});

describe('a workflow is asked for at the service of its file', () => {
  const answer = { workflow_id: workflowId, otp_sent_to: 'client@example.com', status: 'pending' };
  const resend = async (urlOf: (url: string) => string, file: object = {}) => {
    const { url, seen } = await startStub((response) => sendJson(response, 200, answer));
    const { run } = folderWith({ 'qstamp-workflow.json': JSON.stringify({ ...ownAt(url), ...file }) }, { url: urlOf(url) });
    const { code, stderr } = await run(['workflow', 'resend'], { serviceToken: 'secret' });
    return { code, stderr: stderr.replace(url, 'URL'), lines: seen.map(({ line }) => line) };
  };
  const lines = [`POST /api/v1/workflow/${workflowId}/resend`];

  test.each([
    ['another one', () => nowhere],
    ['not set', () => ''],
  ])('if QSTAMP_URL is %s', async (_how, urlOf) => {
    expect(await resend(urlOf)).toEqual({ code: 0, stderr: '', lines });
  });

  test('a file with an address that is none is no file of a workflow', async () => {
    expect(await resend(String, { service: 'localhost' })).toMatchObject({
      code: 5,
      lines: [],
      stderr: expect.stringContaining('damaged'),
    });
  });
});

test.each(['status', 'resend', 'redact', 'add a'])('%s without a workflow explains how to get one: exit code 5', async (command) => {
  const outcome = await folderWith({ a: 'a' }).run(['workflow', ...command.split(' ')]);
  expect(outcome).toMatchObject({ code: 5, stderr: expect.stringContaining('"qstamp workflow start" makes one') });
});
