import { statSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { folderWith, jsonLines, runCommand } from '../support/cli.ts';
import { mailedService } from '../support/mailed-service.ts';
import { eventually, sha256 } from '../support/requests.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';
import { openLink } from '../support/workflows.ts';

// They run as long as the service, which ends with the process.
const onEnd = () => undefined;
const tsa = await startTsa({ onEnd });
const { mail, service } = await mailedService(providersSettings([{ tsa, qualified: true }], onEnd));

const inFolder = (files: Record<string, string>) => {
  const { run, ...folder } = folderWith({ ...files, 'root.pem': tsa.pki.rootPem }, { url: service.url });
  return { ...folder, run: (...line: string[]) => run(line), runOffline: (...line: string[]) => run(line, { url: 'http://127.0.0.1:9' }) };
};

test('W6, W16: a workflow from its briefing to its page, with a second link', async () => {
  const { run, json, path } = inFolder({ 'briefing.md': 'a logo', 'logo.png': 'png', 'notes.txt': 'txt', data: 'bin' });
  const options = ['--tier', 'verified', '--locale', 'de', '--title', 'A logo', '--metadata', 'case=7'];
  const start = ['workflow', 'start', '--email', 'client@example.com', '--agent', 'agent-7', '--briefing', 'briefing.md', ...options];
  const started = await run(...start, '--json');
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
  expect(mail.mails.find(({ links }) => links.includes(endedLink))?.parsed.subject).toContain('bittet Sie');
  expect((await run('workflow', 'resend')).stdout).toContain('a new link is mailed to client@example.com');
  expect((await openLink(endedLink)).status).not.toBe(200);
  const newLink = await eventually(async () =>
    mail.mails.flatMap(({ links }) => links).find((link) => link.includes(String(workflow?.workflow_id)) && link !== endedLink),
  );
  expect((await openLink(newLink)).status).toBe(200);
  expect(jsonLines(await run('workflow', 'status', '--json'))).toMatchObject([
    { status: 'active', output_count: 0, mail: { status: 'sent' } },
  ]);

  // In the order given, until the first failure.
  const added = await run('workflow', 'add', '--json', 'notes.txt', 'logo.png', 'missing.txt', 'data');
  const said = jsonLines(added).map(({ file, sequence_number, output_type }) => [file, sequence_number, output_type]);
  expect([added.code, ...said]).toEqual([5, ['notes.txt', 1, 'text'], ['logo.png', 2, 'image'], ['missing.txt', undefined, undefined]]);
  expect(await run('workflow', 'add', 'data')).toMatchObject({ code: 2, stderr: expect.stringContaining('--type') });
  const layout = await run('workflow', 'add', '--show-name', '--type', 'layout', 'data');
  expect(layout).toMatchObject({ code: 0, stdout: expect.stringContaining('output 3 (layout)') });

  const completed = await run('workflow', 'complete', '--json');
  expect(jsonLines(completed)).toMatchObject([{ status: 'completed', output_count: 3, workflow_id: workflow?.workflow_id }]);
  const again = await run('workflow', 'complete');
  expect(again.code).toBe(0);
  const page = /(http\S+)\n$/.exec(again.stdout)?.[1] ?? '';
  expect((await fetch(page)).status).toBe(200);
  expect(page).toBe(`${service.url}/workflow/${workflow?.workflow_id}`);
  expect((await run('workflow', 'add', '--type', 'code', 'briefing.md')).code).toBe(3);
});

test('V9: files alone prove stamps and outputs of a real TSA, without the service', async () => {
  const { run, runOffline, path, json, record } = inFolder({ a: 'a', 'b.txt': 'b' });
  expect((await run('stamp', 'a')).stdout).toMatch(
    /^a \(1 byte\): stamped at \S+Z by tsa-1 \(qualified, as claimed by the operator\), saved as /,
  );
  const { token, token_id, issued_at } = record('a').stamp;
  const start = ['workflow', 'start', '--email', 'client@example.com', '--agent', 'me', '--briefing-hash', sha256('x')];
  const started = await run(...start);
  const page = `${service.url}/workflow/${json('qstamp-workflow.json').workflow_id}`;
  expect([started.code, started.stdout]).toEqual([0, expect.stringContaining(`\n  its page, which you can give to the client: ${page}\n`)]);
  expect((await run('workflow', 'add', 'b.txt')).code).toBe(0);

  const online = await run('verify', '--online', '--ca', 'root.pem', '--json', 'a', 'b.txt', String(token_id));
  expect(online.code).toBe(0);
  for (const result of jsonLines(online)) {
    expect(result).toMatchObject({ verdict: 'valid', online: { valid: true, tsp_provider: 'tsa-1', is_qualified: true } });
  }

  expect((await run('trust', 'add', '--yes', 'root.pem')).code).toBe(0);
  const line = ['verify', '--json', 'a', 'a.qstamp.json', 'b.txt', String(token)];
  const offline = await runCommand(line, { cwd: path('.'), env: { XDG_CONFIG_HOME: path('config') } });
  expect(offline).toMatchObject({ code: 0, stderr: '' });
  const results = jsonLines(offline);
  expect(results.map(({ content_sha256 }) => content_sha256)).toEqual(['a', 'a', 'b', 'a'].map(sha256));
  for (const result of results)
    expect(result).toMatchObject({ verdict: 'valid', trust_anchor: { subject: expect.stringContaining('Root CA') } });
  expect(results[0]?.issued_at).toBe(issued_at);

  writeFileSync(path('b.txt'), 'changed');
  expect(await runOffline('verify', 'b.txt')).toMatchObject({ code: 1, stdout: expect.stringContaining('NOT VALID, imprint_mismatch: ') });
});
