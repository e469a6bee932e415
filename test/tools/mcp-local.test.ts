import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client as Client2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Transport2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { type BundleLab, startBundleLab } from '../support/bundle-lab.ts';
import { nowhere, temporaryFolder } from '../support/cli.ts';
import { type MailServer, startMailServer } from '../support/mail.ts';
import { sha256 } from '../support/requests.ts';
import { serviceToken } from '../support/service.ts';

/** `qstamp mcp`, started by the official clients. */

const ends: (() => void | Promise<void>)[] = [];
let lab: BundleLab;
let mail: MailServer;
beforeAll(async () => {
  mail = await startMailServer({ keep: true });
  ends.push(mail.close);
  const sendsMail = { SMTP_URL: mail.url, MAIL_FROM: 'qstamp <no-reply@qstamp.example>' };
  lab = await startBundleLab((end) => void ends.push(end), {}, undefined, sendsMail);
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

interface Program {
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
  /** The folders that the client names; undefined: it names none. */
  readonly roots?: readonly string[];
}
type Kind = 'sdk 1.x' | 'client 2.x, legacy' | 'client 2.x, auto';
const kinds: readonly Kind[] = ['sdk 1.x', 'client 2.x, legacy', 'client 2.x, auto'];

/** Starts `qstamp` of this checkout, and connects. */
async function connect(kind: Kind, { args, env = {}, roots }: Program) {
  const program = { command: process.execPath, args: [join(checkoutDir, 'bin/qstamp.mjs'), ...args], env: { PATH: '', ...env } };
  const identity = { name: 'qstamp-test', version: '1.0.0' };
  const capabilities = roots ? { roots: {} } : {};
  const listRoots = async () => ({ roots: (roots ?? []).map((folder) => ({ uri: pathToFileURL(folder).href })) });
  let client: Client1 | Client2;
  if (kind === 'sdk 1.x') {
    client = new Client1(identity, { capabilities });
    if (roots) client.setRequestHandler(ListRootsRequestSchema, listRoots);
    await client.connect(new Transport1(program));
  } else {
    client = new Client2(identity, { capabilities, versionNegotiation: { mode: kind === 'client 2.x, auto' ? 'auto' : 'legacy' } });
    if (roots) client.setRequestHandler('roots/list', listRoots);
    await client.connect(new Transport2(program));
  }
  onTestFinished(() => client.close());
  return {
    client,
    call: async (name: string, given: Record<string, unknown>) => {
      const answer = (await client.callTool({ name, arguments: given })) as {
        readonly content: readonly { readonly text: string }[];
        readonly structuredContent?: {
          readonly results: readonly Record<string, unknown>[];
          readonly problems: readonly { message: string }[];
        };
        readonly isError?: boolean;
      };
      return {
        isError: answer.isError === true,
        text: answer.content[0]!.text,
        whole: JSON.stringify(answer),
        ...answer.structuredContent,
      };
    },
  };
}

/** A folder whose owner trusts the TSA, and the environment of its owner. */
function ownFolder(files: Record<string, string>) {
  const folder = temporaryFolder({ ...files, '.config/qstamp/anchors/root.pem': lab.tsa.pki.rootPem });
  return { folder, env: { QSTAMP_URL: lab.service.url, XDG_CONFIG_HOME: join(folder, '.config') } };
}

describe.each(kinds)('%s', (kind) => {
  test('stamps the files of a folder, verifies them without the service, and shows a stamp', async () => {
    const { folder, env } = ownFolder({ 'a.txt': 'a', 'sub/b.txt': 'b' });
    const { client, call } = await connect(kind, { args: ['mcp', '--allow', folder], env });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      ...['stamp_files', 'verify_file', 'show_stamp', 'workflow_start', 'workflow_add_files', 'workflow_status', 'workflow_complete'],
    ]);
    const stamped = await call('stamp_files', { paths: ['.'] });
    expect(stamped).toMatchObject({ isError: false, done: 2, failed: 0 });
    expect(stamped.results?.map((one) => one.sha256).sort()).toEqual([sha256('b'), sha256('a')]);
    const saved = JSON.parse(readFileSync(join(folder, 'a.txt.qstamp.json'), 'utf8'));
    expect(stamped.whole).not.toContain(saved.stamp.token);
    const { token_id } = saved.stamp;
    expect(await call('show_stamp', { path: 'a.txt' })).toMatchObject({ results: [{ sha256: sha256('a'), stamp: { token_id } }] });

    const offline = await connect(kind, { args: ['mcp', '--allow', folder], env: { ...env, QSTAMP_URL: nowhere } });
    expect(await offline.call('verify_file', { path: 'a.txt' })).toMatchObject({ isError: false, results: [{ verdict: 'valid' }] });
    writeFileSync(join(folder, 'a.txt'), 'another');
    expect(await offline.call('verify_file', { path: 'a.txt' })).toMatchObject({
      isError: false,
      results: [{ verdict: 'not_valid', reason: expect.stringMatching(/^imprint_mismatch/) }],
    });
    expect(await offline.call('stamp_files', { paths: ['sub/b.txt', 'c.txt'] })).toMatchObject({
      isError: true,
      text: expect.stringContaining('c.txt'),
    });
  });

  test('runs a workflow, and its secret never reaches the assistant', async () => {
    const { folder, env } = ownFolder({ 'task.md': 'a logo', 'logo.png': 'png', 'text.md': 'text' });
    const { call } = await connect(kind, { args: ['mcp'], env, roots: [folder] });
    const start = { user_email: 'client@example.com', agent_id: 'agent', briefing: 'task.md', locale: 'fr' };
    const started = await call('workflow_start', start);
    expect(started).toMatchObject({ isError: false, results: [{ briefing_hash: sha256('a logo') }] });
    const { workflow_token, workflow_id } = JSON.parse(readFileSync(join(folder, 'qstamp-workflow.json'), 'utf8'));
    expect(await call('workflow_complete', {})).toMatchObject({ isError: true, text: expect.stringContaining('has no results yet') });
    const link = await mail.linkFor(workflow_id);
    expect(mail.mails.find(({ links }) => links.includes(link))?.parsed.subject).toContain('vous demande');
    // The same call twice at once adds each file once.
    const twice = await Promise.all([1, 2].map(() => call('workflow_add_files', { paths: ['logo.png', 'text.md'] })));
    const added = twice.find(({ results }) => results?.some((one) => 'sequence_number' in one))!;
    expect(added).toMatchObject({
      results: [
        { sequence_number: 1, output_type: 'image' },
        { sequence_number: 2, output_type: 'text' },
      ],
    });
    const state = await call('workflow_status', {});
    expect(state).toMatchObject({ results: [{ workflow_id, output_count: 2 }] });
    const completed = await call('workflow_complete', {});
    const bundle = join(folder, `workflow-${workflow_id}.zip`);
    expect(completed).toMatchObject({ isError: false, results: [{ workflow_id, output_count: 2 }, { bundle }] });
    expect(await call('workflow_complete', {})).toMatchObject({ isError: false, results: [{ workflow_id }, { bundle }] });
    expect(await call('verify_file', { path: bundle })).toMatchObject({ results: [{ verdict: 'valid' }] });
    for (const { whole } of [started, added, state, completed]) expect(whole).not.toContain(workflow_token);
    expect(await call('workflow_start', start)).toMatchObject({
      isError: true,
      text: expect.stringContaining('already contains a workflow'),
    });
  });

  test('uses only allowed folders, and says how the user allows one', async () => {
    const { folder, env } = ownFolder({
      'secret.txt': 'secret',
      'secret.txt.qstamp.json': '{}',
      'shared/a.txt': 'a',
      'shared/b.txt': 'b',
      'shared/in/c': 'c',
    });
    const shared = join(folder, 'shared');
    symlinkSync(join(folder, 'secret.txt'), join(shared, 'link.txt'));
    symlinkSync(folder, join(shared, 'up'));
    symlinkSync(join(folder, 'secret.txt.qstamp.json'), join(shared, 'b.txt.qstamp.json'));
    mkdirSync(join(folder, 'shared-too'));
    symlinkSync(join(folder, 'secret.txt'), join(shared, 'x'));
    const stampsOfLink = ['x.tsr', 'x.qstamp.json', 'x.basic.qstamp.json'];
    for (const name of stampsOfLink) writeFileSync(join(shared, name), '{}');
    const { call } = await connect(kind, { args: ['mcp', '--allow', shared], env, roots: [folder] });
    const outside = [
      '../secret.txt',
      join(folder, 'secret.txt'),
      'link.txt',
      'up/secret.txt',
      '..',
      '../shared-too',
      'b.txt',
      ...stampsOfLink,
    ];
    for (const path of outside) {
      const refused = { isError: true, text: expect.stringContaining('ask the user to start this server with --allow') };
      expect(await call('stamp_files', { paths: ['a.txt', path] }), path).toMatchObject(refused);
      expect(await call('workflow_start', { user_email: 'a@b.example', agent_id: 'a', briefing: path }), path).toMatchObject(refused);
    }
    const start = { user_email: 'a@b.example', agent_id: 'a', briefing: 'a.txt' };
    expect(await call('workflow_start', { ...start, workflow: '../w.json' })).toMatchObject({ isError: true });
    expect(await call('workflow_start', { ...start, workflow: 'up/w.json' })).toMatchObject({ isError: true });
    expect([existsSync(join(folder, 'w.json')), existsSync(join(shared, 'a.txt.qstamp.json'))]).toEqual([false, false]);

    const without = await connect(kind, { args: ['mcp'], env });
    expect(await without.call('verify_file', { path: shared })).toMatchObject({
      isError: true,
      text: expect.stringContaining('add --allow and a folder'),
    });
  });
});

/** A server that may use a new folder with these files, and that folder. */
async function connectIn(files: Record<string, string>, env: Record<string, string> = {}) {
  const own = ownFolder(files);
  return { ...own, ...(await connect('client 2.x, auto', { args: ['mcp', '--allow', own.folder], env: { ...own.env, ...env } })) };
}
const task = { user_email: 'client@example.com', agent_id: 'agent', briefing_text: 'a logo' };

test('a result of a workflow may have an older stamp, which is kept; adding it twice adds it once', async () => {
  const { folder, call } = await connectIn({ 'a.txt': 'a', 'b.txt': 'b' });
  await call('stamp_files', { paths: ['a.txt'] });
  const older = readFileSync(join(folder, 'a.txt.qstamp.json'), 'utf8');
  const started = await call('workflow_start', task);
  expect(started).toMatchObject({ isError: false, results: [{ briefing_hash: sha256('a logo') }] });
  expect(started.text).toContain('files can be added now');
  const earlier = join(folder, 'a.txt.basic.qstamp.json');
  const added = { isError: false, results: [{ sequence_number: 1, earlier }, { sequence_number: 2 }] };
  expect(await call('workflow_add_files', { paths: ['a.txt', 'b.txt'] })).toMatchObject(added);
  expect(readFileSync(earlier, 'utf8')).toBe(older);
  const again = await call('workflow_add_files', { paths: ['b.txt', 'a.txt'] });
  expect(again).toMatchObject({ results: [{ already_stamped: true }, { already_stamped: true }] });
  for (const path of ['a.txt', earlier]) {
    expect(await call('verify_file', { path }), path).toMatchObject({ verdicts: { valid: 1, not_valid: 0, not_proved: 0 } });
  }
  const state = await call('workflow_status', {});
  expect(state).toMatchObject({ results: [{ output_count: 2, verify_url: expect.stringMatching(`^${lab.service.url}/workflow/`) }] });
  expect(state.text).toMatch(/^done: 1, failed: 0\nthe service says: workflow /);
  await call('workflow_complete', {});
  expect((await call('workflow_status', {})).whole).not.toContain('salt');
});

test('a workflow file cannot send the assistant to another service than that of the settings', async () => {
  const { folder, env, call: callAtHome } = await connectIn({});
  await callAtHome('workflow_start', task);
  const args = ['mcp', '--allow', folder];
  const { call } = await connect('client 2.x, auto', { args, env: { ...env, QSTAMP_URL: nowhere } });
  const state = await call('workflow_status', {});
  expect(state.isError).toBe(true);
  expect(state.text).toContain(`this workflow is at ${lab.service.url}, but QSTAMP_URL of this server is ${nowhere}`);
});

test('verifies whether a file is in an evidence bundle, and what is not valid is no success', async () => {
  const { zip } = await lab.completed(['a']);
  const { folder, call } = await connectIn({ 'a.txt': 'a', 'b.txt': 'b' });
  writeFileSync(join(folder, 'proofs.zip'), zip);
  const bundle = 'proofs.zip';
  const found = await call('verify_file', { path: 'a.txt', bundle });
  expect(found).toMatchObject({ verdicts: { valid: 2, not_valid: 0, not_proved: 0 }, results: [{}, { sequence_numbers: [1] }] });
  const missing = await call('verify_file', { path: 'b.txt', bundle });
  expect(missing).toMatchObject({ verdicts: { valid: 1, not_valid: 1, not_proved: 0 }, results: [{}, { verdict: 'not_valid' }] });
  expect([missing.text.split('\n')[0], missing.whole]).toEqual([
    'valid: 1, not_valid: 1, not_proved: 0, failed: 0',
    expect.not.stringContaining('"done"'),
  ]);
});

test('refuses what it does not know or cannot use, and advises in words of its tools', async () => {
  const { folder, call } = await connectIn({ 'a.txt': 'a', 'b.txt': 'b', c: 'c' }, { XDG_CONFIG_HOME: '/nowhere' });
  const other = { paths: ['a.txt', 'b.txt'] };
  await call('stamp_files', { paths: ['a.txt', 'b.txt'] });
  const refusals: [tool: string, given: Record<string, unknown>, says: RegExp][] = [
    ['stamp_files', { ...other, force: true }, /force/],
    ['workflow_start', { ...task, briefing: 'a.txt' }, /one of briefing and briefing_text/],
    ['workflow_start', { ...task, briefing_text: undefined }, /one of briefing and briefing_text/],
    ['workflow_status', {}, /there is no .*qstamp-workflow\.json; workflow_start makes one/],
    ['workflow_add_files', other, /workflow_start makes one/],
    ['verify_file', { path: 'c' }, /no stamp beside it .*; stamp_files makes one/],
    ['verify_file', { path: 'a.txt' }, /not_proved: 1,.*run: npx qstamp trust add root\.pem/s],
  ];
  const says = async (tool: string, given: Record<string, unknown>, sentence: RegExp) => {
    const { whole, text } = await call(tool, given);
    expect(text, tool).toMatch(sentence);
    expect(whole, tool).not.toMatch(/ --|\\"qstamp/);
  };
  for (const refusal of refusals) await says(...refusal);
  writeFileSync(join(folder, 'b.txt'), 'changed');
  await says('stamp_files', { paths: ['b.txt'] }, /has changed since it was stamped .*; save it under another name/);
  await call('workflow_start', task);
  await says('workflow_start', task, /already contains a workflow; the argument workflow names another file/);
  await says('workflow_add_files', { paths: ['c'] }, /give it as output_type/);
  await call('workflow_add_files', { paths: ['a.txt'] });
  writeFileSync(join(folder, 'a.txt'), 'changed');
  await says('workflow_add_files', { paths: ['a.txt'] }, /it was stamped as output 1 .*; save a changed result under another name/);
});

test('starts with faults in its settings, and its tools say them', async () => {
  const { folder, env } = ownFolder({ 'a.txt': 'a', 'home/b.txt': 'b' });
  const home = join(folder, 'home');
  for (const allowed of ['missing', 'a.txt']) {
    const { call } = await connect('client 2.x, auto', { args: ['mcp', '--allow', join(folder, allowed)], env });
    const refused = { isError: true, text: expect.stringMatching(/--allow .*: there is no such folder; ask the user/) };
    expect(await call('verify_file', { path: 'a.txt' }), allowed).toMatchObject(refused);
  }
  const { call } = await connect('client 2.x, auto', { args: ['mcp', '--allow', '~/'], env: { ...env, HOME: home } });
  expect(await call('stamp_files', { paths: ['b.txt'] })).toMatchObject({ done: 1 });
});

/** The settings in the document that start a program, by their file format. */
function settingsInDocument(): { command: string; args: string[]; env: Record<string, string> }[] {
  const document = readFileSync(join(checkoutDir, 'docs/agents/assistants.md'), 'utf8');
  const blocks = (format: string) => [...document.matchAll(new RegExp(`^\`\`\`${format}\n(.*?)^\`\`\`$`, 'gms'))].map(([, text]) => text!);
  const ofJson = blocks('json').flatMap((text) => {
    const { mcpServers, servers } = JSON.parse(text);
    return [(mcpServers ?? servers).qstamp];
  });
  // The few lines of TOML have values of JSON, except that a table has `=`.
  const ofToml = blocks('toml').map((text) =>
    Object.fromEntries(
      [...text.matchAll(/^(\w+) = (.*)$/gm)].map(([, name, value]) => [name, JSON.parse(value!.replaceAll('" = "', '": "'))]),
    ),
  );
  return [...ofJson, ...ofToml].filter(({ args }) => args?.includes('qstamp'));
}

test('the settings of the common assistants in the document start it', async () => {
  const settings = settingsInDocument();
  expect(settings.length).toBe(3);
  for (const { command, args, env } of settings) {
    const { folder } = ownFolder({ 'a.txt': 'a' });
    expect([command, ...args.slice(0, 3)]).toEqual(['npx', '-y', 'qstamp', 'mcp']);
    expect(Object.keys(env)).toEqual(['QSTAMP_URL', 'QSTAMP_TOKEN']);
    const own = args.slice(2).map((arg) => (arg === '/home/me/contracts' ? folder : arg));
    const isByRoots = !own.includes('--allow');
    const { call } = await connect('client 2.x, auto', {
      args: own,
      env: { ...env, QSTAMP_URL: lab.service.url, QSTAMP_TOKEN: serviceToken },
      ...(isByRoots && { roots: [folder] }),
    });
    expect(await call('stamp_files', { paths: ['a.txt'] })).toMatchObject({ isError: false, done: 1 });
  }
});
