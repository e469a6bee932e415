import { execFile } from 'node:child_process';
import { existsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { serviceUrl } from '../../src/cli/client.ts';
import { stamp } from '../../src/cli/commands/stamp.ts';
import { folderWith } from '../support/cli-in-process.ts';
import { jsonLines, runCommand, runMeasured, temporaryFolder } from '../support/command.ts';
import { tries } from '../support/depth.ts';
import { inherited } from '../support/environment.ts';
import { getJson, internalHeaders, sha256 } from '../support/requests.ts';
import { serviceToken, sharedService } from '../support/service.ts';

// Some of these tests start several processes.
vi.setConfig({ testTimeout: 120_000 });

const service = await sharedService();
/** The command in a process of its own, as the product `test`, in a folder with these files. */
const inFolder = (files: Record<string, string>) => {
  const { path, record } = folderWith([], files);
  const usual = { QSTAMP_URL: service.url, QSTAMP_SERVICE_TOKEN: serviceToken };
  const run = (args: string[], env = {}) => runCommand(args, { cwd: path('.'), env: { ...usual, ...env } });
  return { run, record };
};
const inProcess = (files: Record<string, string>) => folderWith([stamp], files, { url: service.url, serviceToken });

describe('qstamp stamp', () => {
  test('stamps a file for the product of the token and saves the stamp beside it', async () => {
    const { run, record } = inFolder({ 'contract.pdf': 'signed' });
    const { code, stdout, stderr } = await run(['stamp', 'contract.pdf']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^contract\.pdf \(6 bytes\): stamped at \S+Z by mock \(not qualified\), saved as contract\.pdf\.qstamp\.json\n$/,
    );
    const { stamp } = record('contract.pdf');
    expect(record('contract.pdf')).toEqual({
      qstamp: 1,
      kind: 'stamp',
      file: 'contract.pdf',
      bytes: 6,
      sha256: sha256('signed'),
      service: service.url,
      stamp: expect.objectContaining({ content_sha256: sha256('signed'), tier: 'basic' }),
    });
    const { body } = await getJson(service, '/api/v1/internal/v1/stamps?limit=1', internalHeaders);
    expect(body.items).toEqual([expect.objectContaining({ token_id: stamp.token_id })]);
  });

  test('without a service token stamps standard input as an agent, with options before the command', async () => {
    const total = async () => (await getJson(service, '/api/v1/internal/v1/stamps?limit=1', internalHeaders)).body.total;
    const before = await total();
    const command = [process.execPath, join(checkoutDir, 'bin/qstamp.mjs'), '--json', '--tier', 'plus', 'stamp', '-'];
    const { stdout } = await promisify(execFile)('sh', ['-c', 'printf piped | "$0" "$@"', ...command], {
      cwd: temporaryFolder(),
      env: { ...inherited, QSTAMP_URL: ` ${service.url}/\n`, QSTAMP_SERVICE_TOKEN: '' },
    });
    expect(JSON.parse(stdout)).toMatchObject({ file: '-', sha256: sha256('piped'), stamp: { tier: 'plus' } });
    expect(await total()).toBe(before);
  });

  test('exits with 3 and the text of the service if it refuses', async () => {
    const { run } = inProcess({ a: 'a', large: 'x'.repeat(100_001) });
    const unauthorized = await run(['stamp', 'a'], { serviceToken: 'nobody' });
    expect([unauthorized.code, unauthorized.stderr]).toEqual([
      3,
      expect.stringMatching(/^a: the service answered 401: .*X-Service-Token \(QSTAMP_SERVICE_TOKEN\)/),
    ]);
    const tooLarge = await run(['stamp', '--json', '--tier', 'sealed', 'large']);
    expect(tooLarge.code).toBe(3);
    expect(jsonLines(tooLarge)).toEqual([
      {
        subject: 'large',
        error: { message: expect.stringContaining('413'), status: 413, code: 'payload_too_large', request_id: expect.any(String) },
      },
    ]);
    const manyWords = await run(['stamp', '--metadata', `a=${'x'.repeat(5000)}`, 'a']);
    expect([manyWords.code, manyWords.stderr]).toEqual([3, expect.stringMatching(/422: metadata: .*4096 bytes/)]);
  });

  test('without arguments it shows its help; an invalid address is 2', async () => {
    const { run } = inFolder({ a: 'a' });
    expect(await run([])).toMatchObject({ code: 0, stdout: expect.stringMatching(/qstamp stamp[\s\S]*Exit codes/) });
    expect(await run(['stamp', 'a'], { QSTAMP_URL: 'http://a/?b' })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('QSTAMP_URL must be'),
    });
  });
});

test('QSTAMP_URL is trimmed and checked whole', () => {
  expect([serviceUrl(undefined), serviceUrl(' https://a.example/b \n')]).toEqual(['http://127.0.0.1:8080', 'https://a.example/b']);
  for (const wrong of [
    'localhost:8080',
    'ftp://a',
    'http://',
    'http://a:99999',
    'http://a/ b',
    'http://u:p@a/',
    'http://a/?b',
    'http://a/#b',
  ]) {
    expect(() => serviceUrl(wrong), wrong).toThrow('QSTAMP_URL must be');
  }
});

test('a large file is hashed in constant memory', async () => {
  const cwd = temporaryFolder();
  const largeBytes = tries(1024, 256) * 1024 ** 2;
  for (const name of ['large', 'small']) writeFileSync(join(cwd, name), '');
  truncateSync(join(cwd, 'large'), largeBytes);

  const stampMeasured = (name: string) => runMeasured(['stamp', name], { cwd, env: { QSTAMP_URL: service.url } });
  const [small, large] = [await stampMeasured('small'), await stampMeasured('large')];
  expect([small.code, large.code]).toEqual([0, 0]);
  expect(existsSync(join(cwd, 'large.qstamp.json'))).toBe(true);
  expect(large.peakMebibytes - small.peakMebibytes).toBeLessThan(64);
});
