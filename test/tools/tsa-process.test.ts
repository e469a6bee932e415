import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { issueResponse } from '../../src/shared/rfc3161/index.ts';
import { openTsaState, writeProvidersFile } from '../../src/tsa/state.ts';
import { pem } from '../support/certificates.ts';
import { inherited } from '../support/environment.ts';
import { openssl, opensslVerify } from '../support/openssl-tsa.ts';
import { postQuery } from '../support/tsa-client.ts';
import { ask } from '../support/tsa-lab.ts';

const YEAR_MS = 365 * 24 * 3600 * 1000;
const nowMs = Date.now();
const asked = ask();

let dir: string;
beforeEach(async () => {
  dir = join(await mkdtemp(join(tmpdir(), 'qstamp-tsa-')), 'state');
});
afterEach(() => rm(join(dir, '..'), { recursive: true, force: true }));

const stamp = (identity: Awaited<ReturnType<typeof openTsaState>>['signer'], timeMs = nowMs) =>
  issueResponse({ identity, policies: ['2.999.1'] }, asked.der, { timeMs, serial: 7n });
const judge = (answer: Buffer, rootPem: string, timeMs = nowMs) =>
  opensslVerify({ answer, against: { query: asked.der }, rootPem, atTime: Math.floor(timeMs / 1000) });

describe('the PKI of the development TSA on disk', () => {
  test('is the same after a restart, and earlier stamps verify', async () => {
    const first = await openTsaState(dir, 'p-256', nowMs);
    const before = stamp(first.signer);
    const second = await openTsaState(dir, 'p-256', nowMs + 1000);
    expect(second.rootPem).toBe(first.rootPem);
    expect(second.signer.certificate).toEqual(first.signer.certificate);
    expect((await judge(before, second.rootPem)).ok).toBe(true);
    expect((await judge(stamp(second.signer), first.rootPem)).ok).toBe(true);
    expect(await readFile(second.rootFile, 'utf8')).toBe(first.rootPem);
  });

  test('has empty revocation lists, for verifiers that require them', async () => {
    const { crlFile, rootFile, signer } = await openTsaState(dir, 'p-256', nowMs);
    const at = (name: string) => join(dir, name);
    await writeFile(at('signer.pem'), pem('CERTIFICATE', signer.certificate));
    await writeFile(at('chain.pem'), signer.chain.map((der) => pem('CERTIFICATE', der)).join(''));
    const files = ['-CRLfile', crlFile, '-CAfile', rootFile, '-untrusted', at('chain.pem'), at('signer.pem')];
    expect((await openssl('verify', '-x509_strict', '-crl_check_all', ...files)).output).toContain('signer.pem: OK');
  });

  test('renews the TSA certificate under the same root before it expires', async () => {
    const first = await openTsaState(dir, 'p-256', nowMs);
    const later = nowMs + 10 * YEAR_MS;
    const renewed = await openTsaState(dir, 'p-256', later);
    expect(renewed.signer.certificate).not.toEqual(first.signer.certificate);
    expect((await judge(stamp(renewed.signer, later), first.rootPem, later)).output).toContain('Verification: OK');
    expect((await openTsaState(dir, 'p-256', later)).signer.certificate).toEqual(renewed.signer.certificate);
  });

  test('is readable by its owner only', async () => {
    await openTsaState(dir, 'p-256', nowMs);
    await writeProvidersFile(dir, { url: 'http://127.0.0.1:1', policy: '2.999.1', isAggregating: true });
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
    for (const name of await readdir(dir)) expect((await stat(join(dir, name))).mode & 0o777).toBe(0o600);
  });
});

describe('the development TSA as a process', () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  function start(settings: Record<string, string> = {}): ChildProcess {
    const child = fork('src/tsa/main.ts', {
      env: { ...inherited, TSA_STATE_DIR: dir, ...settings },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    children.push(child);
    return child;
  }

  test('prints its address, serves, writes a providers file, and stops on SIGTERM', async () => {
    const child = start();
    const [{ url, providersFile, rootFile }] = await once(child, 'message');
    const rootPem = await readFile(rootFile, 'utf8');
    expect((await judge((await postQuery(url, asked.der)).body, rootPem, Date.now())).output).toContain('Verification: OK');
    expect(JSON.parse(await readFile(providersFile, 'utf8'))).toEqual([
      { name: 'local-tsa', url, qualified: false, policy_oid: '2.999.3161.1', trust_anchors_file: 'root.pem', max_concurrent: 256 },
    ]);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test('a wrong setting ends it with one line', async () => {
    const child = start({ TSA_KEY: 'rsa-512' });
    let output = '';
    child.stderr!.on('data', (chunk) => {
      output += chunk;
    });
    const [code] = await once(child, 'close');
    expect(code).toBe(1);
    expect(output).toContain('TSA_KEY: got "rsa-512"; it takes p-256');
    expect(output.trim().split('\n')).toHaveLength(1);
  });
});
