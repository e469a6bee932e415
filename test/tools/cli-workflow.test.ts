import { statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { verify } from '../../src/cli/commands/verify.ts';
import { workflowComplete, workflowResend, workflowStart, workflowStatus } from '../../src/cli/commands/workflow.ts';
import { workflowAdd } from '../../src/cli/commands/workflow-add.ts';
import { folderWith } from '../support/cli-in-process.ts';
import { jsonLines, runCommand } from '../support/command.ts';
import { mailedService } from '../support/mailed-service.ts';
import { eventually, sha256 } from '../support/requests.ts';
import { openLink } from '../support/workflows.ts';

const { mail, service } = await mailedService();

const commands = [verify, workflowAdd, workflowComplete, workflowResend, workflowStart, workflowStatus];
const inFolder = (files: Record<string, string>) => {
  const { run, ...folder } = folderWith(commands, files, { url: service.url });
  return { ...folder, run: (...line: string[]) => run(line) };
};

const start = ['workflow', 'start', '--email', 'client@example.com', '--agent', 'agent-7'];

test('W6, W16: a workflow from its briefing to its page, with a second link', async () => {
  const { run, json, path } = inFolder({ 'briefing.md': 'a logo', 'logo.png': 'png', 'notes.txt': 'txt', data: 'bin' });
  const asProcess = (...line: string[]) => runCommand(line, { cwd: dirname(path('data')), env: { QSTAMP_URL: service.url } });
  const started = await asProcess(
    ...start,
    '--json',
    '--briefing',
    'briefing.md',
    '--tier',
    'verified',
    '--title',
    'A logo',
    '--metadata',
    'case=7',
  );
  expect(started).toMatchObject({ code: 0, stderr: '' });
  const [workflow] = jsonLines(started);
  expect(workflow).toMatchObject({ status: 'pending', otp_sent_to: 'client@example.com', briefing_hash: sha256('a logo') });
  const token = json('qstamp-workflow.json').workflow_token;
  expect(token).toMatch(/^\S{40,}$/);
  expect(started.stdout).not.toContain(token);
  expect(statSync(path('qstamp-workflow.json')).mode & 0o777).toBe(0o600);

  const early = await run('workflow', 'add', 'logo.png');
  expect([early.code, early.stderr]).toEqual([3, expect.stringMatching(/^logo\.png: the service answered 409: /)]);
  const endedLink = await mail.linkFor(workflow?.workflow_id);
  expect((await run('workflow', 'resend')).stdout).toContain('a new link is mailed to client@example.com');
  expect((await openLink(endedLink)).status).not.toBe(200);
  const newLink = await eventually(async () =>
    mail.mails.flatMap(({ links }) => links).find((link) => link.includes(String(workflow?.workflow_id)) && link !== endedLink),
  );
  expect((await openLink(newLink)).status).toBe(200);
  expect(jsonLines(await run('workflow', 'status', '--json'))).toMatchObject([
    { status: 'active', output_count: 0, mail: { status: 'sent' } },
  ]);

  const added = await run('workflow', 'add', '--json', 'logo.png', 'notes.txt');
  expect(added.code).toBe(0);
  expect(jsonLines(added).map(({ file, sequence_number, output_type }) => [file, sequence_number, output_type])).toEqual([
    ['logo.png', 1, 'image'],
    ['notes.txt', 2, 'text'],
  ]);
  expect(await run('workflow', 'add', 'data')).toMatchObject({ code: 2, stderr: expect.stringContaining('--type') });
  expect(await run('workflow', 'add', '--show-name', '--type', 'layout', 'data')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('output 3 (layout)'),
  });

  // Outputs of the mock provider prove nothing, but the service knows them.
  const verified = await run('verify', '--online', '--json', 'logo.png', 'notes.txt', 'data');
  expect(verified.code).toBe(1);
  for (const result of jsonLines(verified)) expect(result).toMatchObject({ verdict: 'not_proved', online: { valid: true } });
  writeFileSync(path('notes.txt'), 'changed');
  expect(await run('verify', 'notes.txt')).toMatchObject({ code: 1, stdout: expect.stringContaining('NOT VALID, imprint_mismatch') });

  const completed = await run('workflow', 'complete', '--json');
  expect(jsonLines(completed)).toEqual([
    expect.objectContaining({ status: 'completed', output_count: 3, workflow_id: workflow?.workflow_id }),
  ]);
  const again = await asProcess('workflow', 'complete');
  expect(again.code).toBe(0);
  const page = /(http\S+)\n$/.exec(again.stdout)?.[1] ?? '';
  expect((await fetch(page)).status).toBe(200);
  expect(page).toBe(`${service.url}/workflow/${workflow?.workflow_id}`);
  expect((await run('workflow', 'add', '--type', 'code', 'briefing.md')).code).toBe(3);
});

test('outputs are added in the order given, until the first failure', async () => {
  const names = Array.from({ length: 6 }, (_, index) => `${index}.txt`);
  const { run } = inFolder(Object.fromEntries(names.map((name) => [name, name])));
  expect((await run(...start, '--briefing-hash', sha256('x'))).code).toBe(0);
  const outcome = await run('workflow', 'add', '--json', ...names.slice(0, 4), 'missing.txt', ...names.slice(4));
  expect(outcome.code).toBe(5);
  expect(jsonLines(outcome).map(({ file, subject }) => file ?? subject)).toEqual([...names.slice(0, 4), 'missing.txt']);
  const rest = await run('workflow', 'add', '--json', ...names.slice(4));
  expect(jsonLines(rest).map(({ sequence_number }) => sequence_number)).toEqual([5, 6]);
});
