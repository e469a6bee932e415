import { execFile } from 'node:child_process';
import { constants, generateKeyPairSync, sign } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { checkoutDir } from '../../../scripts/stack/context.ts';
import type { SignatureSubject } from '../../../src/shared/rfc3161/index.ts';
import { createSignatureThread } from '../../../src/workers/providers/signature-thread.ts';

const pssKeys = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
const [ours, others] = [generateKeyPairSync('ec', { namedCurve: 'P-256' }), generateKeyPairSync('ec', { namedCurve: 'P-256' })];
const edwards = generateKeyPairSync('ed25519');

const textOf = (i: number) => Buffer.from(`what is signed, ${'and more '.repeat(i % 7)}${i}`);

/** One of each kind, and whether it holds. */
function kindsOf(i: number): readonly (readonly [SignatureSubject, boolean])[] {
  const data = textOf(i);
  const ecdsa = { digest: 'sha256', key: ours.publicKey, data, signature: sign('sha256', data, ours.privateKey) };
  return [
    [ecdsa, true],
    [{ ...ecdsa, data: textOf(i + 1) }, false],
    [{ ...ecdsa, key: others.publicKey }, false],
    [{ ...ecdsa, digest: 'sha384' }, false],
    [{ ...ecdsa, signature: Buffer.from('no signature') }, false],
    [{ ...ecdsa, signature: Buffer.alloc(0) }, false],
    [{ digest: undefined, key: edwards.publicKey, data, signature: sign(null, data, edwards.privateKey) }, true],
    [
      {
        digest: 'sha512',
        key: { key: pssKeys.publicKey, ...pss },
        data,
        signature: sign('sha512', data, { key: pssKeys.privateKey, ...pss }),
      },
      true,
    ],
  ];
}

test('signatures of several keys and kinds, asked for at the same time, each get their own verdict', async () => {
  const verifySignature = createSignatureThread();
  for (const howMany of [1, 100]) {
    const asked = Array.from({ length: howMany }, (_, i) => kindsOf(i)).flat();
    const verdicts = await Promise.all(asked.map(([subject]) => verifySignature(subject)));
    expect(verdicts).toEqual(asked.map(([, holds]) => holds));
  }
});

const supportDir = join(checkoutDir, 'test/support');
const verifyTwice = async (...options: string[]) =>
  (await promisify(execFile)(process.execPath, [...options, join(supportDir, 'verify-twice.ts')])).stdout;

test('a process that waits for no signature ends, though the thread would go on', async () => {
  expect(await verifyTwice()).toBe('true false\n'.repeat(2));
});

test('where the thread ends, its signatures are verified all the same, and those after them', async () => {
  expect(await verifyTwice('--import', join(supportDir, 'ending-threads.ts'))).toBe('true false\n'.repeat(2));
});
