import { execFileSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../../src/shared/runtime/config.ts';
import { createLogger } from '../../../src/shared/runtime/log.ts';
import { noLists } from '../../../src/shared/store/trusted-lists.ts';
import { loadProvidersFile } from '../../../src/shared/trust/providers-file.ts';
import { loadTrustSettings } from '../../../src/shared/trust/trusted-providers.ts';
import { openKeyProvider } from '../../../src/workers/providers/key/signing-key.ts';
import { createListings, openTsas } from '../../../src/workers/providers/open-provider.ts';
import { keyKinds, makeOwnKey, type OwnKey, ownKeySettings } from '../../support/own-key.ts';
import { patience } from '../../support/pace.ts';
import { randomHash } from '../../support/requests.ts';

const log = createLogger({ level: 'silent', process: 'worker' });

function open(key: OwnKey, members: object = {}, NODE_ENV: 'production' | 'test' = 'test') {
  const { TSP_PROVIDERS_FILE } = ownKeySettings(key, members);
  const trust = loadTrustSettings({ TSP: 'file', TSP_PROVIDERS_FILE, TRUST_ANCHORS_FILE: undefined, IGNORE_CA_PURPOSES: false, NODE_ENV });
  return openTsas(trust.providers, { clock: Date.now, log });
}

async function refusalOf(key: OwnKey, members: object = {}, environment?: 'production'): Promise<string> {
  try {
    await open(key, members, environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('a key of one’s own', () => {
  test.each(Object.entries(keyKinds))('of %s issues tokens that the verifier accepts, each with its own serial number', async (_, kind) => {
    const [tsa] = await open(makeOwnKey({ kind }), { accuracy_ms: 1_250 });
    const subject = { tokenId: 'x', imprint: { algorithm: 'sha512' as const, digest: randomHash().repeat(2) }, tier: 'basic' as const };
    const stamp = () => tsa!.stamp(subject, AbortSignal.timeout(patience(5_000)));
    const [one, two] = [await stamp(), await stamp()];
    expect(await tsa!.readToken(one)).toMatchObject({ policy: '2.999.17.5', accuracyMicroseconds: 1_250_000n });
    expect((await tsa!.readToken(one)).chain).toHaveLength(2);
    const serials = await Array.fromAsync([one, two], async (proof) => BigInt((await tsa!.readToken(proof)).serial));
    expect(serials[0]).not.toBe(serials[1]);
    for (const serial of serials) expect(serial > 0n && serial < 1n << 128n && serial > 1n << 64n).toBe(true);
    expect([one.isQualified, tsa!.isQualified]).toEqual([false, false]);
  });

  test('may be encrypted, and its certificate may be the trust anchor itself', async () => {
    const key = makeOwnKey({ passphrase: 'open sesame' });
    writeFileSync(join(key.dir, 'pass'), 'open sesame\n');
    expect(await refusalOf(key, { passphrase_file: 'pass', trust_anchors_file: null })).toBe('accepted');
    writeFileSync(join(key.dir, 'pass'), 'open\n');
    expect(await refusalOf(key, { passphrase_file: 'pass' })).toMatch(/\(own-tsa\)\.passphrase_file: ".*pass" does not open ".*tsa\.key"$/);
    expect(await refusalOf(key)).toMatch(/\(own-tsa\)\.passphrase_file: got nothing, and ".*tsa\.key" is encrypted$/);
  });

  test('accepts the certificates of its chain in any order', async () => {
    const key = makeOwnKey();
    const chain = execFileSync('cat', ['root.pem', 'tsa.pem'], { cwd: key.dir });
    writeFileSync(join(key.dir, 'chain.pem'), chain);
    expect(await refusalOf(key, { certificates_file: 'chain.pem' })).toBe('accepted');
  });

  const tsaUsage = ['basicConstraints=critical,CA:false', 'keyUsage=critical,digitalSignature'];
  const unfit: Readonly<Record<string, readonly [Parameters<typeof makeOwnKey>[0], RegExp]>> = {
    'without an extended key usage': [{ extensions: tsaUsage }, /has no extended key usage/],
    'whose extended key usage is not critical': [{ extensions: [...tsaUsage, 'extendedKeyUsage=timeStamping'] }, /is not critical/],
    'that is for signing code too': [
      { extensions: [...tsaUsage, 'extendedKeyUsage=critical,timeStamping,codeSigning'] },
      /certificate is for /,
    ],
    'of an RSA key that is too short': [{ kind: ['rsa:1024'] }, /does not belong to any of the certificates, or is of a kind/],
    'of Ed448': [{ kind: ['ed448'] }, /cannot make time-stamps: ed448/],
    'of a curve that is not accepted': [{ kind: ['ec', '-pkeyopt', 'ec_paramgen_curve:secp256k1'] }, /kind that verifiers do not accept/],
  };
  test.each(Object.entries(unfit))('%s is refused at start, in one line', async (_, [options, expected]) => {
    const message = await refusalOf(makeOwnKey(options));
    expect(message).toMatch(/^TSP_PROVIDERS_FILE: \(own-tsa\)\.(certificates|key)_file: /);
    expect(message).toMatch(expected);
    expect(message).not.toContain('\n');
  });

  test('is refused at start if it is missing, unreadable or not the key of its certificate', async () => {
    const [key, other] = [makeOwnKey(), makeOwnKey()];
    copyFileSync(join(other.dir, 'tsa.key'), join(key.dir, 'other.key'));
    copyFileSync(join(other.dir, 'root.pem'), join(key.dir, 'other.pem'));
    for (const [members, message] of [
      [{ key_file: 'other.key' }, /\.key_file: the key of ".*other\.key" does not belong/],
      [{ key_file: 'tsa.pem' }, /\.key_file: ".*tsa\.pem" does not contain a private key in PEM$/],
      [{ key_file: 'gone' }, /\.key_file: ".*gone" cannot be read$/],
      [{ certificates_file: 'tsa.key' }, /\.certificates_file: "tsa\.key" cannot be used: /],
      [{ trust_anchors_file: 'other.pem' }, /does not make valid time-stamps: /],
    ] as const)
      expect(await refusalOf(key, members)).toMatch(message);
  });

  test.each([
    ['begins tomorrow', -1],
    ['ended yesterday', 31],
  ])('is refused at start if its certificate %s', async (_, days) => {
    const key = makeOwnKey();
    const { TSP_PROVIDERS_FILE } = ownKeySettings(key);
    const { providers } = loadTrustSettings({
      TSP: 'file',
      TSP_PROVIDERS_FILE,
      TRUST_ANCHORS_FILE: undefined,
      IGNORE_CA_PURPOSES: false,
    });
    const time = { wall: () => Date.now() + days * 86_400_000, steady: () => performance.now() };
    await expect(openKeyProvider(providers[0] as never, { log, time, listings: createListings(noLists.current) })).rejects.toThrow(
      /certificates_file: .*does not make valid time-stamps: .*valid/,
    );
  });

  test('is never qualified: settings that say so, or that have unknown members, are refused', async () => {
    const key = makeOwnKey();
    for (const [members, message] of [
      [{ qualified: true }, '.qualified: takes false: '],
      [{ url: 'https://tsa.example' }, ': has an unknown member: "url"'],
      [{ policy_oid: undefined }, '.policy_oid: '],
      [{ type: 'hsm' }, '.type: takes an entry whose type is "rfc3161" or "key"'],
      [{ clock: { ntp: [] } }, '.clock.ntp: takes at least one time server'],
      [{ clock: 'sometimes' }, '.clock: takes {"ntp": '],
      [{ clock: { ntp: ['a b'] } }, '.clock'],
    ] as const)
      expect(await refusalOf(key, members)).toContain(`(own-tsa)${message}`);
  });

  test('T7: states no accuracy finer than the drift allowed to its clock', async () => {
    const key = makeOwnKey();
    const ntp = ['127.0.0.1:9'];
    const tooFine = /^TSP_PROVIDERS_FILE: .*\(own-tsa\)\.clock\.max_drift_ms: takes no more than accuracy_ms, which is \d+: .*$/;
    for (const [members, expected] of [
      [{ accuracy_ms: 1, clock: { ntp, max_drift_ms: 1_000 } }, tooFine],
      [{ clock: { ntp, max_drift_ms: 1_001 } }, tooFine],
      [{ accuracy_ms: 100, clock: { ntp, max_drift_ms: 100 } }, /^accepted$/],
      [{ clock: { ntp, max_drift_ms: 1_000 } }, /^accepted$/],
      [{ accuracy_ms: 1, clock: { ntp } }, /^accepted$/],
      [{ accuracy_ms: 1, clock: 'unchecked' }, /^accepted$/],
    ] as const)
      expect(await refusalOf(key, members)).toMatch(expected);
    const { TSP_PROVIDERS_FILE } = ownKeySettings(key, { accuracy_ms: 20, clock: { ntp } });
    expect(loadProvidersFile(TSP_PROVIDERS_FILE ?? '')).toMatchObject([{ accuracyMs: 20, clock: { maxDriftMs: 20 } }]);
  });

  test('needs a checked clock in production, unless a setting waives this by name', async () => {
    const key = makeOwnKey();
    expect(await refusalOf(key, {}, 'production')).toMatch(
      /\(own-tsa\)\.clock: got nothing; production takes .*"unchecked" if set explicitly$/,
    );
    expect(await refusalOf(key, { clock: 'unchecked' }, 'production')).toBe('accepted');
    expect(await refusalOf(key, { clock: { ntp: ['127.0.0.1:9'] } }, 'production')).toBe('accepted');
  });
});
