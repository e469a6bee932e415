import { createHash, timingSafeEqual } from 'node:crypto';
import { Readable } from 'node:stream';
import { containerOf } from '../../shared/archive/asics.ts';
import { storedFile } from '../../shared/archive/stored-zip.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { type Imprint, imprintAlgorithms } from '../../shared/domain/stamp.ts';
import type { SealedContentStore } from '../../shared/store/sealed-content.ts';
import type { StampStore } from '../../shared/store/stamps.ts';
import { createHeldEvidenceReader } from './held-evidence.ts';
import { digestOfSecret, openContent } from './sealed-envelope.ts';
import type { StampJudge } from './stamp-judge.ts';

/** Asked for the memory that a content takes before it is read. */
export type Reserve = (bytes: number) => Promise<void>;

/** The content of a sealed stamp, for whoever holds its secret address; checked against its hash on the way out (S11). */
export interface SealedDownload {
  /** @throws ServiceError `not_found` for an unknown id, a wrong secret and a stamp without content alike. */
  content(tokenId: string, secret: string, reserve: Reserve): Promise<{ content: Buffer; hash: string }>;
  /**
   * Content and proof as an ASiC-S container (EN 319 162-1), the same octets each time until the evidence is renewed.
   *
   * @throws ServiceError as `content`; `not_found` for a stamp of the mock provider
   */
  container(tokenId: string, secret: string, reserve: Reserve): Promise<Readable>;
  /** The hashes of the content by every algorithm (S17). @throws ServiceError as `content` */
  digests(tokenId: string, secret: string, reserve: Reserve): Promise<readonly Imprint[]>;
}

const notFound = () => new ServiceError('not_found', 'There is no content at this address.');

export function createSealedDownload(deps: {
  stamps: StampStore;
  sealedContents: SealedContentStore;
  stampJudge: Pick<StampJudge, 'judgeStamp'>;
}): SealedDownload {
  async function open(tokenId: string, secret: string, reserve: Reserve) {
    const stamp = await deps.stamps.find(tokenId);
    if (!stamp?.sealed || !timingSafeEqual(Buffer.from(digestOfSecret(secret)), Buffer.from(stamp.sealed.secretSha256))) throw notFound();
    await reserve(stamp.sealed.bytes);
    const sealed = await deps.sealedContents.get(stamp.sealed.contentId);
    const content = sealed && openContent(secret, tokenId, sealed);
    if (!content || createHash('sha256').update(content).digest('hex') !== stamp.imprint.digest) {
      throw new ServiceError('internal_error', 'The stored content does not match its stamp and is not sent.');
    }
    return { content, stamp };
  }

  return {
    content: async (tokenId, secret, reserve) => {
      const { content, stamp } = await open(tokenId, secret, reserve);
      return { content, hash: stamp.imprint.digest };
    },
    digests: async (tokenId, secret, reserve) => {
      const { content } = await open(tokenId, secret, reserve);
      return imprintAlgorithms.map((algorithm) => ({ algorithm, digest: createHash(algorithm).update(content).digest('hex') }));
    },
    container: async (tokenId, secret, reserve) => {
      const { content, stamp } = await open(tokenId, secret, reserve);
      if (stamp.proofs[0].token === '')
        throw new ServiceError('not_found', 'The record of this stamp is damaged: there is nothing to pack.');
      const held = await createHeldEvidenceReader(deps)(stamp);
      if (held === undefined)
        throw new ServiceError('not_found', 'This stamp was made by the mock provider: there is no time-stamp token to pack.');
      return Readable.from(containerOf(storedFile(`${tokenId}.bin`, content), held.bytes), { objectMode: false });
    },
  };
}
