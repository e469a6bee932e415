import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto';

/**
 * Encrypts sealed content with AES-256-GCM under a key that is derived from the secret in its address (S11). The database holds the
 * ciphertext and the SHA-256 of the secret, and cannot decrypt it. The nonce is derived from the secret too; that is safe because each
 * secret encrypts only one content.
 */
const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

function keyMaterial(secret: string, tokenId: string): { key: Buffer; nonce: Buffer } {
  const material = Buffer.from(hkdfSync('sha256', secret, tokenId, 'qstamp sealed content v1', keyBytes + nonceBytes));
  return { key: material.subarray(0, keyBytes), nonce: material.subarray(keyBytes) };
}

/** What is stored of a secret. Lower-case hex. */
export const digestOfSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** The content as it is stored: ciphertext, then the tag. */
export function sealContent(secret: string, tokenId: string, content: Buffer): Buffer {
  const { key, nonce } = keyMaterial(secret, tokenId);
  const cipher = createCipheriv(algorithm, key, nonce);
  return Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]);
}

/** The content again; undefined when the secret is another one or a byte was changed. */
export function openContent(secret: string, tokenId: string, sealed: Buffer): Buffer | undefined {
  if (sealed.length < tagBytes) return undefined;
  const { key, nonce } = keyMaterial(secret, tokenId);
  const decipher = createDecipheriv(algorithm, key, nonce).setAuthTag(sealed.subarray(-tagBytes));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()]);
  } catch {
    return undefined;
  }
}
