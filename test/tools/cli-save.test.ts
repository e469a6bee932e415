import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { pki, recordOf, runInBash, sendJson, startStub, temporaryFolder, tokenOf } from '../support/cli.ts';
import { inherited } from '../support/environment.ts';
import { eventually, sha256 } from '../support/requests.ts';

// Each of these tests starts a process.
vi.setConfig({ testTimeout: 60_000 });

const qstamp = join(checkoutDir, 'bin/qstamp.mjs');
const workflowId = '01890a5d-ac96-774b-bcce-b302099a8057';
const stamp = {
  ...JSON.parse(recordOf('a', tokenOf('a'))).stamp,
  content_sha256: sha256('a'),
};

/** A service that stamps `a`, starts workflows, and sends a bundle of 1 MB. */
const startService = () =>
  startStub((response, { line }) => {
    if (line.startsWith('GET')) response.writeHead(200, { 'content-type': 'application/zip' }).end(Buffer.alloc(1_000_000));
    else if (line.endsWith('/start')) {
      const links = { otp_sent_to: 'a@example.com', verify_url: `/workflow/${workflowId}`, expires_at: '2030-01-01T00:00:00Z' };
      sendJson(response, 201, { workflow_id: workflowId, workflow_token: 'secret', status: 'pending', ...links });
    } else sendJson(response, 201, stamp);
  });

describe('a disk that is full leaves no part of a file', () => {
  const files = { a: 'a', b: 'a', 'b.qstamp.json': recordOf('a', tokenOf('a')), 'root.pem': pki.rootPem };

  test.each([
    ['the stamp', 'stamp a', /^a: the stamp \S+ was made but not saved, in a\.qstamp\.json: the file is too large for this disk\n$/],
    [
      'a stamp that replaces another',
      'stamp --force b',
      /^b: the stamp \S+ was made but not saved, in b\.qstamp\.json: the file is too large/,
    ],
    ['a container', 'pack b', /^b: the file is too large for this disk\n$/],
    ['a bundle', `workflow bundle ${workflowId} --out x.zip`, /^qstamp: x\.zip: the file is too large for this disk\n$/],
    ['a trust anchor', 'trust add --yes root.pem', /^qstamp: \S+\.pem: the file is too large for this disk\n$/],
  ])('%s', async (_name, line, said) => {
    const { url } = await startService();
    const cwd = temporaryFolder({ ...files, 'qstamp/anchors/.keep': '' });
    // A limit of the file size is what a test can have without a disk of its own.
    const { code, stderr } = await runInBash(`ulimit -f 0; qstamp ${line}`, { cwd, env: { QSTAMP_URL: url, XDG_CONFIG_HOME: cwd } });
    expect([code, stderr]).toEqual([5, expect.stringMatching(said)]);
    expect(readdirSync(cwd).sort()).toEqual([...Object.keys(files), 'qstamp'].sort());
    expect(readdirSync(join(cwd, 'qstamp/anchors'))).toEqual(['.keep']);
    expect(readFileSync(join(cwd, 'b.qstamp.json'), 'utf8')).toBe(files['b.qstamp.json']);
  });
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s during a download leaves no part of a file', async (signal) => {
  const { url } = await startStub((response) => void response.writeHead(200, { 'content-type': 'application/zip' }).write('PK'));
  const cwd = temporaryFolder();
  const args = [qstamp, 'workflow', 'bundle', workflowId, '--out', 'x.zip'];
  const child = spawn(process.execPath, args, { cwd, env: { ...inherited, QSTAMP_URL: url }, stdio: 'ignore' });
  await eventually(async () => (readdirSync(cwd).length === 1 ? true : undefined));
  expect(readdirSync(cwd)).not.toContain('x.zip');
  child.kill(signal);
  expect(await once(child, 'close')).toEqual([null, signal]);
  expect(readdirSync(cwd)).toEqual([]);
});
