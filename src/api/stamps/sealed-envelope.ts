import { createHash, hkdfSync } from 'node:crypto';
import { type Cipher, decryptParts, encrypt, keyBytes, nonceBytes, tagBytes } from '../../shared/domain/encryption.ts';
import type { StoredContent } from '../../shared/store/sealed-content.ts';

/**
 * Encrypts sealed content with AES-256-GCM under a key that is derived from the secret in its address (S11). The database holds the
 * ciphertext and the SHA-256 of the secret, and cannot decrypt it. The nonce is derived from the secret too; that is safe because each
 * secret encrypts only one content.
 */
function cipherOf(secret: string, tokenId: string): Cipher {
  const material = Buffer.from(hkdfSync('sha256', secret, tokenId, 'qstamp sealed content v1', keyBytes + nonceBytes));
  return { key: material.subarray(0, keyBytes), nonce: material.subarray(keyBytes) };
}

/** What is stored of a secret. Lower-case hex. */
export const digestOfSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** The content as it is stored: ciphertext, then the tag. */
export const sealContent = (secret: string, tokenId: string, content: Buffer): Buffer => encrypt(cipherOf(secret, tokenId), content);

/** The content again, piece by piece. @throws Error at its end where a byte was changed */
export async function* openContent(secret: string, tokenId: string, { size, read }: StoredContent): AsyncGenerator<Buffer> {
  const end = Math.max(size - tagBytes, 0);
  const tag: Buffer[] = [];
  for await (const part of read(end, size)) tag.push(part);
  yield* decryptParts(cipherOf(secret, tokenId), Buffer.concat(tag), read(0, end));
}
