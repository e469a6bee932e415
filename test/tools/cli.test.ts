import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createClient, serviceUrl } from '../../src/cli/client.ts';
import { jsonLines, nowhere, runCommand, runMeasured, sendJson, startStub, temporaryFolder } from '../support/cli.ts';
import { tries } from '../support/depth.ts';
import { getJson, internalHeaders, sha256 } from '../support/requests.ts';
import { serviceToken, sharedService } from '../support/service.ts';

/** The command in a process of its own, with a real service; stamping itself is tested in cli-stamp.test.ts. */
const service = await sharedService();

test('the token in the environment names the product, and --json may come before the command', async () => {
  const env = { QSTAMP_URL: ` ${service.url}/\n`, QSTAMP_TOKEN: serviceToken };
  const line = ['--json', 'stamp', '--tier', 'plus', '-'];
  const outcome = await runCommand(line, { cwd: temporaryFolder(), env, input: 'piped' });
  expect(outcome).toMatchObject({ code: 0, stderr: '' });
  const [saved] = jsonLines(outcome);
  expect(saved).toMatchObject({ file: '-', stamp: { content_sha256: sha256('piped'), tier: 'plus' } });
  const { body } = await getJson(service, '/api/v1/internal/v1/stamps?limit=1', internalHeaders);
  expect(body.items).toEqual([expect.objectContaining({ token_id: (saved!.stamp as { token_id: string }).token_id })]);
});

test('without a token an agent stamps, and a large file is hashed in constant memory', async () => {
  const cwd = temporaryFolder({ large: '' });
  truncateSync(join(cwd, 'large'), tries(1024, 256) * 1024 ** 2);
  const env = { QSTAMP_URL: service.url, QSTAMP_TOKEN: '' };
  const { code, stdout, peakMebibytes } = await runMeasured(['stamp', 'large'], { cwd, env });
  expect([code, stdout]).toEqual([0, expect.stringMatching(/stamped at \S+Z by mock \(not qualified\), saved as large\.qstamp\.json\n$/)]);
  expect(peakMebibytes).toBeLessThan(200);
});

test('QSTAMP_SERVICE_TOKEN, the old name, counts if there is no QSTAMP_TOKEN', async () => {
  const stub = await startStub((response) => sendJson(response, 404, {}));
  for (const tokens of [{ QSTAMP_SERVICE_TOKEN: 'old' }, { QSTAMP_SERVICE_TOKEN: 'old', QSTAMP_TOKEN: 'new' }])
    await expect(createClient({ QSTAMP_URL: stub.url, ...tokens }).renewEvidence('id', new Blob([]))).rejects.toThrow('404');
  expect(stub.seen.map(({ headers }) => headers['x-service-token'])).toEqual(['old', 'new']);
});

test('QSTAMP_TOKEN is not sent to another service than that of QSTAMP_URL', async () => {
  const { url, seen } = await startStub((response) => sendJson(response, 404, {}));
  for (const QSTAMP_URL of [nowhere, `${url}/`]) {
    const client = createClient({ QSTAMP_URL, QSTAMP_TOKEN: 'token' }, { service: url });
    await expect(client.renewEvidence('id', new Blob([]))).rejects.toThrow('404');
  }
  expect(seen.map(({ headers }) => headers['x-service-token'])).toEqual([undefined, 'token']);
});

test('QSTAMP_TOKEN that cannot be sent is refused at once', async () => {
  const env = { QSTAMP_URL: 'http://127.0.0.1:9', QSTAMP_TOKEN: 'secret…' };
  const refused = await runCommand(['stamp', 'a'], { cwd: temporaryFolder({ a: 'a' }), env });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('QSTAMP_TOKEN has a character that no service token has') });
  expect(refused.stderr).not.toContain('secret');
});

test('QSTAMP_URL is trimmed and checked whole', async () => {
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
  ])
    expect(() => serviceUrl(wrong), wrong).toThrow('QSTAMP_URL must be');
  const refused = await runCommand(['stamp', 'a'], { cwd: temporaryFolder({ a: 'a' }), env: { QSTAMP_URL: 'http://a/?b' } });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('QSTAMP_URL must be') });
});
