import { createHash, hkdfSync, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type Cipher, decryptParts, encrypt, keyBytes, nonceBytes, tagBytes } from '../../shared/domain/encryption.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { type Imprint, imprintAlgorithms, isSameImprint } from '../../shared/domain/stamp.ts';
import type { StoredContent } from '../../shared/store/sealed-content.ts';
import type { Store } from '../../shared/store/store.ts';
import { createImprintHash } from '../http/body-reader.ts';

export type OpenedContent = Awaited<ReturnType<typeof openSealed>>;

/**
 * Opens the content of a sealed stamp, for a caller who knows its secret URL: reads it once to check its hash, and to hash it in `algorithms` too.
 *
 * @throws ServiceError `not_found` for an unknown id, a wrong secret, and a stamp without content; `internal_error` if the content is damaged
 */
export async function openSealed(
  { stamps, sealedContents }: Store,
  tokenId: string,
  secret: string,
  algorithms: readonly Imprint['algorithm'][] = [],
) {
  const stamp = await stamps.find(tokenId);
  if (!stamp?.sealed || !timingSafeEqual(Buffer.from(digestOfSecret(secret)), Buffer.from(stamp.sealed.secretSha256))) {
    throw new ServiceError('not_found', 'There is no content at this address.');
  }
  const stored = await sealedContents.open(stamp.sealed.contentId);
  if (stored === null) throw damaged();
  const hash = createImprintHash([...new Set([stamp.imprint.algorithm, ...algorithms])]);
  let size = 0;
  let checksum = 0;
  try {
    for await (const part of openContent(secret, tokenId, stored)) {
      hash.add(part);
      size += part.length;
      checksum = crc32(part, checksum);
    }
  } catch (error) {
    throw error instanceof ServiceError ? error : damaged();
  }
  const imprints = hash.imprints();
  if (!imprints.some((imprint) => isSameImprint(imprint, stamp.imprint))) throw damaged();
  /** Reads the content again in parts, so that the whole content is never in memory. */
  const read = () => openContent(secret, tokenId, stored);
  return { stamp, imprints, size, crc32: checksum, read };
}

/** The hashes of sealed content in every algorithm. @throws the same ServiceErrors as `openSealed` */
export const digestsOfSealed = async (store: Store, tokenId: string, secret: string): Promise<readonly Imprint[]> =>
  (await openSealed(store, tokenId, secret, imprintAlgorithms)).imprints;

const damaged = () => new ServiceError('internal_error', 'The stored content does not match its stamp and is not sent.');

/**
 * The key and nonce for sealed content (AES-256-GCM). Both are derived from the secret in its URL (S11). The database has only the ciphertext and the
 * SHA-256 of the secret, which is not enough to decrypt it. A derived nonce is safe, because each secret encrypts only one content.
 */
function cipherOf(secret: string, tokenId: string): Cipher {
  const material = Buffer.from(hkdfSync('sha256', secret, tokenId, 'qstamp sealed content v1', keyBytes + nonceBytes));
  return { key: material.subarray(0, keyBytes), nonce: material.subarray(keyBytes) };
}

/** The SHA-256 of a secret in lower-case hex, as it is stored with the stamp. */
export const digestOfSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** Encrypts content. The result is the ciphertext, followed by the authentication tag. */
export const sealContent = (secret: string, tokenId: string, content: Buffer): Buffer => encrypt(cipherOf(secret, tokenId), content);

/** Decrypts the content piece by piece. @throws Error at the end if a byte was changed */
async function* openContent(secret: string, tokenId: string, { size, read }: StoredContent): AsyncGenerator<Buffer> {
  const end = Math.max(size - tagBytes, 0);
  const tag: Buffer[] = [];
  for await (const part of read(end, size)) tag.push(part);
  yield* decryptParts(cipherOf(secret, tokenId), Buffer.concat(tag), read(0, end));
}
