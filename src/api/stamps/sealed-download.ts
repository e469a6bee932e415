import { createHash, hkdfSync, timingSafeEqual } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { containerOf } from '../../shared/archive/asics.ts';
import { type Cipher, decryptParts, encrypt, keyBytes, nonceBytes, tagBytes } from '../../shared/domain/encryption.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { type Imprint, imprintAlgorithms, isSameImprint } from '../../shared/domain/stamp.ts';
import type { SealedContentStore, StoredContent } from '../../shared/store/sealed-content.ts';
import type { StampStore } from '../../shared/store/stamps.ts';
import { createHeldEvidenceReader } from '../evidence/held-evidence.ts';
import { createImprintHash } from '../server/imprint-hash.ts';
import type { StampJudge } from '../verification/stamp-judge.ts';

/** The content of a sealed stamp, for whoever holds its secret address; checked against its hash before any of it is sent (S11). */
export interface SealedDownload {
  /** @throws ServiceError `not_found` for an unknown id, a wrong secret and a stamp without content alike. */
  content(tokenId: string, secret: string): Promise<{ content: Readable; bytes: number; hash: string }>;
  /**
   * Content and proof as an ASiC-S container (EN 319 162-1), the same octets each time until the evidence is renewed.
   *
   * @throws ServiceError as `content`; `not_found` for a stamp of the mock provider
   */
  container(tokenId: string, secret: string): Promise<Readable>;
  /** The hashes of the content by every algorithm (S17). @throws ServiceError as `content` */
  digests(tokenId: string, secret: string): Promise<readonly Imprint[]>;
}

const notFound = () => new ServiceError('not_found', 'There is no content at this address.');
const damaged = () => new ServiceError('internal_error', 'The stored content does not match its stamp and is not sent.');

export function createSealedDownload(deps: {
  stamps: StampStore;
  sealedContents: Pick<SealedContentStore, 'open'>;
  stampJudge: Pick<StampJudge, 'judgeStamp'>;
}): SealedDownload {
  /** Reads all of it to check it. Whatever is sent is read again, so that no content is ever in memory as a whole. `algorithms`: beside that of the stamp. */
  async function open(tokenId: string, secret: string, algorithms: readonly Imprint['algorithm'][] = []) {
    const stamp = await deps.stamps.find(tokenId);
    if (!stamp?.sealed || !timingSafeEqual(Buffer.from(digestOfSecret(secret)), Buffer.from(stamp.sealed.secretSha256))) throw notFound();
    const stored = await deps.sealedContents.open(stamp.sealed.contentId);
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
    return { stamp, imprints, size, crc32: checksum, read: () => openContent(secret, tokenId, stored) };
  }

  return {
    content: async (tokenId, secret) => {
      const { read, size, stamp } = await open(tokenId, secret);
      return { content: Readable.from(read(), { objectMode: false }), bytes: size, hash: stamp.imprint.digest };
    },
    digests: async (tokenId, secret) => (await open(tokenId, secret, imprintAlgorithms)).imprints,
    container: async (tokenId, secret) => {
      const { stamp, read, size, crc32 } = await open(tokenId, secret);
      if (stamp.proofs[0].token === '')
        throw new ServiceError('not_found', 'The record of this stamp is damaged: there is nothing to pack.');
      const held = await createHeldEvidenceReader(deps)(stamp);
      if (held === undefined)
        throw new ServiceError('not_found', 'This stamp was made by the mock provider: there is no time-stamp token to pack.');
      const file = { name: `${tokenId}.bin`, size, crc32, octets: read() };
      return Readable.from(containerOf(file, held.bytes), { objectMode: false });
    },
  };
}

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
