import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { runToEnd } from '../../scripts/stack/run.ts';
import { progressText, readableSize, withMilliseconds } from '../../src/cli/terminal.ts';
import * as cli from '../support/cli.ts';
import { inherited } from '../support/environment.ts';

// Some of these tests start several processes.
vi.setConfig({ testTimeout: 60_000 });

const record = cli.recordOf('a', cli.tokenOf('a'));
const stamps = {
  'root.pem': cli.pki.rootPem,
  'other.pem': cli.stranger.rootPem,
  good: 'a',
  'good.qstamp.json': record,
  bad: 'changed',
  'bad.qstamp.json': record,
};

/** What a terminal got: ESC for the escape character, and a new line where a line is erased. */
const shown = (text: string) => text.replaceAll('\r\x1b[K', '\n').replaceAll('\x1b', 'ESC');

test.each([
  [
    'on a terminal',
    '--ca root.pem good bad missing',
    {},
    ['G good: valid', 'R bad: NOT VALID', 'R missing: there is', 'R 3 files: 1 valid'],
  ],
  ['on a terminal, not proved', '--ca other.pem good', {}, ['Y good: NOT PROVED']],
  ['not with NO_COLOR', '--ca root.pem good', { NO_COLOR: '1' }, ['good: valid']],
  ['not on a terminal without abilities', '--ca root.pem good', { TERM: 'dumb' }, ['good: valid']],
  ['not with --json', '--json --ca root.pem good', {}, ['{"file":"good"']],
])('each verdict, problem and summary has its sign and colour: %s', async (_where, line, onTerminal, lines) => {
  const { stdout, stderr } = await cli.folderWith(stamps).run(['verify', ...line.split(' ')], { onTerminal });
  const signs = { G: 'ESC[32m✓ESC[39m', R: 'ESC[31m✗ESC[39m', Y: 'ESC[33m!ESC[39m' };
  const wanted = lines.map((line) => line.replace(/^[GRY](?= )/, (sign) => signs[sign as keyof typeof signs]));
  const output = shown(`\n${stdout}\n${stderr}`).split('\n');
  expect(wanted.filter((beginning) => !output.some((line) => line.startsWith(beginning)))).toEqual([]);
});

test('no signs in a pipe, even if FORCE_COLOR is set', async () => {
  const env = { FORCE_COLOR: '1', TERM: 'xterm' };
  const { stdout, stderr } = await cli.runCommand(['verify', 'good', 'missing'], { cwd: cli.temporaryFolder(stamps), env });
  expect(stdout).toContain('2 files: ');
  expect(stdout + stderr).not.toMatch(/[✓✗]/);
  expect(stdout + stderr).not.toContain('\x1b');
});

test('times in text have milliseconds, or the digits that were signed', () => {
  expect(withMilliseconds('from 2026-11-26T09:31:11.123456Z to 2026-11-26T09:31:12Z')).toBe(
    'from 2026-11-26T09:31:11.123456Z to 2026-11-26T09:31:12.000Z',
  );
});

describe('progress', () => {
  test.each([
    [1e9, 4e9, 10_000, 'x: 25 % of 4.0 GB, 30 s left'],
    [1e9, 4e9, 100_000, 'x: 25 % of 4.0 GB, 5 min 0 s left'],
    [1e6, 4e9, 1_000, 'x: 0 % of 4.0 GB, 1 h 6 min left'],
    [1e9, 4e9, 999, 'x: 25 % of 4.0 GB'],
    [5e9, 4e9, 9_999, 'x: 100 % of 4.0 GB'],
    [1e9, undefined, 9_999, 'x: 1.0 GB'],
    [0, 0, 9_999, 'x: 0 bytes'],
  ])('%s of %s after %i ms', (done, total, elapsedMs, said) => {
    expect(progressText('x', { done, total, elapsedMs, amountText: readableSize })).toBe(said);
  });

  test('of hashing and of an upload, on a real terminal', async () => {
    const cwd = cli.temporaryFolder({ large: '' });
    truncateSync(join(cwd, 'large'), 16_000_000);
    const { url } = await cli.startStub((response) => cli.sendJson(response, 422, { detail: 'no' }));
    const command = `stty cols 100; exec ${process.execPath} ${join(checkoutDir, 'bin/qstamp.mjs')} stamp --tier sealed large`;
    const env = { ...inherited, TERM: 'xterm', QSTAMP_URL: url };
    const { code, stdout } = await runToEnd('script', ['--quiet', '--return', '--command', command, '/dev/null'], { cwd, env });
    expect([code, shown(stdout)]).toEqual([3, expect.stringMatching(/\nlarge: \d+ % of 16\.0 MB/)]);
    expect(shown(stdout)).toMatch(/\nsent: \d+ % of 21\.3 MB\S*[^\n]*\nESC\[31m✗ESC\[39m large: the service answered 422/);
  });

  test('of packing, but not with --quiet', async () => {
    const packed = (...options: string[]) => cli.folderWith(stamps).run(['pack', ...options, 'good'], { onTerminal: {} });
    expect(shown((await packed()).stderr)).toMatch(/^\ngood: \d+ % of \d/);
    expect((await packed('--quiet')).stderr).toBe('');
  });
});

describe('a reader that closes the pipe', () => {
  const inBash = (line: string) => cli.runInBash(line, { cwd: cli.temporaryFolder(stamps) });

  test.each(['verify good bad good bad', 'recount --help'])('ends "%s" without a word, as SIGPIPE would', async (line) => {
    expect(await inBash(`qstamp ${line} | true; echo "\${PIPESTATUS[0]}"`)).toMatchObject({ stdout: '141\n', stderr: '' });
  });

  test('nobody has to read the problems: the results are complete', async () => {
    const { code, stdout } = await inBash('qstamp verify --ca root.pem missing good 2> >(true)');
    expect([code, stdout]).toEqual([5, expect.stringMatching(/^good: valid, [\s\S]*2 files: 1 valid, 1 failed\n$/)]);
  });
});

test.each([
  ['--version', 0, /^\d+\.\d+\.\d+\n$/],
  ['version', 0, /^\d+\.\d+\.\d+\n$/],
  ['', 0, / stamp [\s\S]*Exit codes/],
  ['--help jobs', 0, /^Usage: qstamp jobs /],
  ['--json help mails', 0, /^Usage: qstamp mails /],
  ['help renew', 0, /^Usage: qstamp renew /],
  ['renew missing', 5, /^missing: there is no stamp beside it \(missing\.qstamp\.json\)/],
])('"qstamp %s": commands, helps, and the command of operators with the same name', async (line, exitCode, said) => {
  const { code, stdout, stderr } = await cli.runCommand(line.split(' ').filter(Boolean), { cwd: cli.temporaryFolder() });
  expect([code, stdout + stderr]).toEqual([exitCode, expect.stringMatching(said)]);
});
