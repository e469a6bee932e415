import { symlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { folderWith, jsonLines, pki, recordOf, tokenOf } from '../support/cli.ts';

/** A folder `docs` with files to take, and files that a folder does not mean. */
function folderWithDocs() {
  const workflow = { qstamp: 1, kind: 'workflow', service: '', workflow_id: '', workflow_token: 'secret', expires_at: '' };
  const taken = ['b.txt', 'a.txt', 'sub/c.txt', 'sub/data.zip', 'alone.tsr'];
  const left = ['.hidden', '.git/config', 'empty/.hidden', 'qstamp-workflow.json', 'gone.qstamp.json', 'a.txt.tsr', 'a.txt.asics'];
  const files = Object.fromEntries([...taken, ...left].map((name) => [`docs/${name}`, name]));
  const folder = folderWith({ ...files, outside: 'outside', 'docs/job.json': JSON.stringify(workflow) });
  symlinkSync(folder.path('outside'), folder.path('docs/link'));
  symlinkSync(folder.path('docs'), folder.path('docs/loop'));
  return folder;
}
const meant = ['docs/a.txt', 'docs/alone.tsr', 'docs/b.txt', 'docs/sub/c.txt', 'docs/sub/data.zip'];

test.each(['stamp', 'verify'])('%s takes the files of a folder, not its hidden files, links, stamps and workflow file', async (command) => {
  const { run } = folderWithDocs();
  const { stdout } = await run([command, '--json', 'docs']);
  const names = jsonLines({ stdout }).map(({ file }) => file);
  expect(command === 'stamp' ? names.sort() : names).toEqual(meant);
});

test('an operand that is a link to a folder is followed; files between folders keep their place', async () => {
  const { run, path } = folderWithDocs();
  symlinkSync(path('docs/sub'), path('linked'));
  const { stdout } = await run(['verify', '--json', 'outside', 'linked', 'docs/b.txt', 'docs/sub/c.txt']);
  expect(jsonLines({ stdout }).map(({ file }) => file)).toEqual([
    'outside',
    'linked/c.txt',
    'linked/data.zip',
    'docs/b.txt',
    'docs/sub/c.txt',
  ]);
});

test('stamping a folder leaves out evidence bundles by their name, but verifies them', async () => {
  const bundle = 'workflow-01890a5d-ac96-774b-bcce-b302099a8057.zip';
  const { run } = folderWith({ [`docs/${bundle}`]: '', 'docs/workflow-7.zip': '' });
  const names = async (command: string) => jsonLines(await run([command, '--json', 'docs'])).map(({ file }) => file);
  expect(await names('stamp')).toEqual(['docs/workflow-7.zip']);
  expect((await names('verify')).sort()).toEqual([`docs/${bundle}`, 'docs/workflow-7.zip']);
});

test('--force takes no folder, because it would replace every stamp in it', async () => {
  const { run } = folderWithDocs();
  expect(await run(['stamp', '--force', 'docs'])).toMatchObject({ code: 2, stderr: expect.stringContaining('files and not folders') });
});

test('a folder without files is a problem, and the others go on', async () => {
  const { run } = folderWithDocs();
  const { code, stderr, stdout } = await run(['verify', 'docs/empty', 'outside']);
  expect([code, stdout]).toEqual([5, '2 files: 2 failed\n']);
  expect(stderr).toMatch(/^docs\/empty: no file in this folder \(.*\)\noutside: there is no stamp beside it/);
});

test('the verdicts of a folder end with a summary, and --quiet prints only what is not valid', async () => {
  const record = recordOf('a', tokenOf('a'));
  const stamped = (name: string, content: string) => ({ [`docs/${name}`]: content, [`docs/${name}.qstamp.json`]: record });
  const files = { ...stamped('good', 'a'), ...stamped('bad', 'changed'), ...stamped('also-good', 'a') };
  const { run } = folderWith({ ...files, 'root.pem': pki.rootPem });
  const { code, stdout } = await run(['verify', '--ca', 'root.pem', 'docs']);
  expect([code, stdout.split('\n').at(-2)]).toEqual([1, '3 files: 2 valid, 1 not valid']);
  const good = await run(['verify', '--ca', 'root.pem', 'docs/good', 'docs/also-good']);
  expect(good.stdout).toMatch(
    /^docs\/good: valid[^\n]*\n {2}signed by [\s\S]*\ndocs\/also-good: valid[^\n]*\n {2}details as above\n2 files/,
  );
  const quiet = await run(['verify', '--quiet', '--ca', 'root.pem', 'docs', 'missing']);
  expect(quiet).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^docs\/bad: NOT VALID, [^\n]*\n {2}the file has changed [^\n]*\n$/),
    stderr: expect.stringMatching(/^missing: [^\n]*\n$/),
  });
  const asJson = await run(['verify', '--quiet', '--json', '--ca', 'root.pem', 'docs']);
  expect(jsonLines(asJson).map(({ file }) => file)).toEqual(['docs/bad']);
  expect(await run(['verify', '--quiet', '--ca', 'root.pem', 'docs/good'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
});
