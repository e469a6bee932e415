import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test, vi } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { runToEnd } from '../../scripts/stack/run.ts';
import { progressText, readableSize, withMilliseconds } from '../../src/cli/terminal.ts';
import { sendJson, startStub } from '../support/cli-in-process.ts';
import { genTimeMs, pki, recordOf, stranger, tokenOf } from '../support/cli-verify-lab.ts';
import { runCommand, runOnTerminal, temporaryFolder } from '../support/command.ts';
import { inherited } from '../support/environment.ts';

// Each of these tests starts several processes.
vi.setConfig({ testTimeout: 60_000 });

const qstamp = join(checkoutDir, 'bin/qstamp.mjs');

function folderOfStamps() {
  const cwd = temporaryFolder();
  const write = (name: string, content: string) => writeFileSync(join(cwd, name), content);
  write('root.pem', pki.rootPem);
  write('other.pem', stranger.rootPem);
  for (const [name, content] of [
    ['good', 'a'],
    ['bad', 'changed'],
  ] as const) {
    write(name, content);
    write(`${name}.qstamp.json`, recordOf('a', tokenOf('a')));
  }
  return cwd;
}

describe('signs and colours', () => {
  test('on a terminal each verdict, problem and summary has its own', async () => {
    const cwd = folderOfStamps();
    const { code, output } = await runOnTerminal(['verify', '--ca', 'root.pem', 'good', 'bad', 'missing'], { cwd });
    expect(code).toBe(1);
    expect(output).toContain('ESC[32m✓ESC[39m good: valid, existed at');
    expect(output).toContain('ESC[31m✗ESC[39m bad: NOT VALID');
    expect(output).toContain('ESC[31m✗ESC[39m missing: there is no such file');
    expect(output).toContain('ESC[31m✗ESC[39m 3 files: 1 valid, 1 not valid, 1 failed');
    const unproved = await runOnTerminal(['verify', '--ca', 'other.pem', 'good'], { cwd });
    expect(unproved.output).toContain('ESC[33m!ESC[39m good: NOT PROVED');
  });

  test.each([
    ['NO_COLOR', { NO_COLOR: '1' }, []],
    ['a terminal without abilities', { TERM: 'dumb' }, []],
    ['--json', {}, ['--json']],
  ])('not with %s', async (_name, env, options) => {
    const { output } = await runOnTerminal(['verify', ...options, '--ca', 'root.pem', 'good', 'bad'], { cwd: folderOfStamps(), env });
    expect(output).toMatch(/good/);
    expect(output).not.toMatch(/ESC\[3|[✓✗]/);
  });

  test('not in a pipe, even if FORCE_COLOR is set', async () => {
    const env = { FORCE_COLOR: '1', TERM: 'xterm' };
    const { stdout, stderr } = await runCommand(['verify', 'good', 'bad', 'missing'], { cwd: folderOfStamps(), env });
    expect(stdout + stderr).toContain('3 files: ');
    expect(stdout + stderr).not.toMatch(/[✓✗]/);
    expect(stdout + stderr).not.toContain('\x1b');
  });
});

test('times in text have milliseconds, or the digits that were signed', () => {
  expect(withMilliseconds('from 2026-11-26T09:31:11.123456Z to 2026-11-26T09:31:12Z')).toBe(
    'from 2026-11-26T09:31:11.123456Z to 2026-11-26T09:31:12.000Z',
  );
});

describe('progress', () => {
  test.each([
    [{ done: 1e9, total: 4e9, elapsedMs: 10_000 }, 'x: 25 % of 4.0 GB, 30 s left'],
    [{ done: 1e9, total: 4e9, elapsedMs: 100_000 }, 'x: 25 % of 4.0 GB, 5 min 0 s left'],
    [{ done: 1e6, total: 4e9, elapsedMs: 1_000 }, 'x: 0 % of 4.0 GB, 1 h 6 min left'],
    [{ done: 1e9, total: 4e9, elapsedMs: 999 }, 'x: 25 % of 4.0 GB'],
    [{ done: 4e9, total: 4e9, elapsedMs: 9_999 }, 'x: 100 % of 4.0 GB'],
    [{ done: 5e9, total: 4e9, elapsedMs: 9_999 }, 'x: 100 % of 4.0 GB'],
    [{ done: 1e9, total: undefined, elapsedMs: 9_999 }, 'x: 1.0 GB'],
    [{ done: 0, total: 0, elapsedMs: 9_999 }, 'x: 0 bytes'],
  ])('%j', (progress, said) => {
    expect(progressText('x', { ...progress, amountText: readableSize })).toBe(said);
  });

  test('of hashing and of an upload, on a terminal only', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'large'), '');
    truncateSync(join(cwd, 'large'), 16_000_000);
    const { url } = await startStub((response) => sendJson(response, 422, { detail: 'no' }));
    const env = { QSTAMP_URL: url };
    const line = ['stamp', '--tier', 'sealed', 'large'];
    const { code, output } = await runOnTerminal(line, { cwd, env });
    expect([code, output]).toEqual([3, expect.stringMatching(/\rESC\[Klarge: \d+ % of 16\.0 MB/)]);
    expect(output).toMatch(/\rESC\[Ksent: \d+ % of 21\.3 MB/);
    expect(output).toMatch(/\rESC\[KESC\[31m✗ESC\[39m large: the service answered 422/);
    expect((await runOnTerminal(['--quiet', ...line], { cwd, env })).output).not.toContain('%');
    expect((await runCommand(line, { cwd, env })).stderr).toBe('large: the service answered 422: no\n');
  });

  test('of packing', async () => {
    const cwd = temporaryFolder();
    const content = 'x'.repeat(6_000_000);
    writeFileSync(join(cwd, 'large'), content);
    writeFileSync(join(cwd, 'large.qstamp.json'), recordOf(content, tokenOf(content, { atMs: genTimeMs })));
    const { code, output } = await runOnTerminal(['pack', 'large'], { cwd });
    expect([code, output]).toEqual([0, expect.stringMatching(/\rESC\[Klarge: \d+ % of 18\.0 MB/)]);
    expect(output).toContain('ESC[32m✓ESC[39m large: packed with its stamp as large.asics');
  });
});

describe('a reader that closes the pipe', () => {
  const closedBy = async (line: string, reader: string) => {
    const program = `"${process.execPath}" "${qstamp}" ${line} | ${reader}; echo "\${PIPESTATUS[0]}"`;
    return runToEnd('bash', ['-c', program], { cwd: folderOfStamps(), env: inherited });
  };

  test.each(['verify good bad good bad', 'completion bash', 'recount --help'])(
    'ends "%s" without a word, as SIGPIPE would',
    async (line) => {
      expect(await closedBy(line, 'true')).toMatchObject({ stdout: '141\n', stderr: '' });
    },
  );

  test('head gets the first line, and nothing is written to standard error', async () => {
    const { stdout, stderr } = await closedBy('verify --ca root.pem good', 'head -1');
    expect([stdout.split('\n')[0], stderr]).toEqual([expect.stringMatching(/^good: valid, existed at/), '']);
  });

  test('nobody has to read the problems: the results are complete', async () => {
    const child = spawn(process.execPath, [qstamp, 'verify', '--ca', 'root.pem', 'missing', 'good'], {
      cwd: folderOfStamps(),
      env: inherited,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stderr.destroy();
    const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect([code, stdout]).toEqual([5, expect.stringMatching(/^good: valid, [\s\S]*2 files: 1 valid, 1 failed\n$/)]);
  });
});

test('version is a command, too', async () => {
  const cwd = temporaryFolder();
  const { stdout } = await runCommand(['--version'], { cwd });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(await runCommand(['version'], { cwd })).toEqual({ code: 0, stdout, stderr: '' });
});

test('"renew FILE" is not the command of operators with the same name', async () => {
  const { code, stderr } = await runCommand(['renew', 'missing'], { cwd: temporaryFolder() });
  expect([code, stderr]).toEqual([5, 'missing: there is no stamp beside it (missing.qstamp.json); "qstamp stamp FILE" makes one\n']);
});

test.each([
  [['--help', 'jobs'], /^qstamp jobs: /],
  [['--json', 'help', 'mails'], /^qstamp mails: /],
  [['help', 'renew'], /^qstamp renew FILE/],
])('%j shows a help, for commands of operators too', async (line, beginning) => {
  expect(await runCommand(line, { cwd: temporaryFolder() })).toEqual({ code: 0, stdout: expect.stringMatching(beginning), stderr: '' });
});
