import { createPrivateKey, createPublicKey, type KeyPairKeyObjectResult } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A key of test/fixtures/rsa-keys. RSA keys are slow to make. */
export function rsaKey(name: 'rsa-1024' | 'rsa' | 'rsa-3072' | 'rsa-pss' | 'rsa-pss-sha384'): KeyPairKeyObjectResult {
  const privateKey = createPrivateKey(readFileSync(join(import.meta.dirname, '../fixtures/rsa-keys', `${name}.pem`)));
  return { privateKey, publicKey: createPublicKey(privateKey) };
}
