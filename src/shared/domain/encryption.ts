import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

/**
 * AES-256-GCM (NIST SP 800-38D), the only encryption in this service. The caller takes each nonce from the system's random source and uses it only
 * once per key. The context names the kind of data and its owner, so encrypted data that is moved to another record cannot be decrypted.
 */
const algorithm = 'aes-256-gcm';
export const keyBytes = 32;
export const nonceBytes = 12;
export const tagBytes = 16;

export interface Cipher {
  readonly key: KeyObject | Buffer;
  readonly nonce: Uint8Array;
  readonly context?: string;
}

/** Returns the ciphertext, then the tag. */
export function encrypt({ key, nonce, context = '' }: Cipher, plain: Uint8Array): Buffer {
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts the result of `encrypt`. Returns undefined for another key, nonce or context, or if a byte was changed. */
export function decrypt({ key, nonce, context = '' }: Cipher, encrypted: Uint8Array): Buffer | undefined {
  if (nonce.length !== nonceBytes || encrypted.length < tagBytes) return undefined;
  const end = encrypted.length - tagBytes;
  const decipher = createDecipheriv(algorithm, key, nonce).setAAD(Buffer.from(context)).setAuthTag(encrypted.subarray(end));
  try {
    return Buffer.concat([decipher.update(encrypted.subarray(0, end)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** Like `decrypt`, but in parts. @throws Error after the last part, for another key, nonce or context, or if a byte was changed */
export async function* decryptParts(
  { key, nonce, context = '' }: Cipher,
  tag: Uint8Array,
  ciphertext: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  const decipher = createDecipheriv(algorithm, key, nonce).setAAD(Buffer.from(context)).setAuthTag(tag);
  for await (const part of ciphertext) yield decipher.update(part);
  decipher.final();
}

/** Encrypts data that is stored with its nonce: nonce, ciphertext and tag. */
const encryptWithNonce = (cipher: Cipher, plain: Uint8Array): Buffer => Buffer.concat([cipher.nonce, encrypt(cipher, plain)]);

const decryptWithNonce = (key: KeyObject, context: string, bytes: Uint8Array): Buffer | undefined =>
  decrypt({ key, nonce: bytes.subarray(0, nonceBytes), context }, bytes.subarray(nonceBytes));

/** Encrypts a key with another key, so that it can be stored with the data that it decrypts. */
export const wrapKey = (cipher: Cipher, wrapped: KeyObject): Buffer => encryptWithNonce(cipher, wrapped.export());

/** Decrypts the result of `wrapKey`. Returns undefined for another key or context. */
export function unwrapKey(key: KeyObject, context: string, wrapped: Uint8Array): KeyObject | undefined {
  const bytes = decryptWithNonce(key, context, wrapped);
  return bytes && createSecretKey(bytes);
}

/** Encrypts a text for storage or transport, in base64. */
export const encryptText = (cipher: Cipher, text: string): string => encryptWithNonce(cipher, Buffer.from(text)).toString('base64');

/** Decrypts the result of `encryptText`. Returns undefined for another key or context. */
export const decryptText = (key: KeyObject, context: string, encrypted: string): string | undefined =>
  decryptWithNonce(key, context, Buffer.from(encrypted, 'base64'))?.toString();

const metadataContext = (tokenId: string): string => `metadata:${tokenId}`;

/** Encrypts the caller's metadata for one stamp. `metadata` is JSON. */
export const encryptMetadata = (cipher: Omit<Cipher, 'context'>, tokenId: string, metadata: string): string =>
  encryptText({ ...cipher, context: metadataContext(tokenId) }, metadata);

/** Returns the metadata of a stamp as JSON, or undefined for another key or stamp. */
export const decryptMetadata = (key: KeyObject, tokenId: string, encrypted: string): string | undefined =>
  decryptText(key, metadataContext(tokenId), encrypted);

/** Derives a separate key for each `context` (HKDF, RFC 5869). Derived keys are never stored. */
export const deriveKey = (key: KeyObject, context: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', key, '', context, keyBytes)));

/** Identifies a key for people and in records without revealing it: 16 hexadecimal digits. */
export const keyFingerprintOf = (key: KeyObject): string =>
  createHmac('sha256', key).update('qstamp key fingerprint').digest('hex').slice(0, 16);
