import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { SealedContentStore } from '../../shared/store/sealed-content.ts';
import type { StampStore } from '../../shared/store/stamps.ts';
import { digestOfSecret, openContent } from './sealed-envelope.ts';

/**
 * The content of a sealed stamp, for whoever holds its secret address; checked against its hash on the way out (S11).
 *
 * `reserve` is asked for the memory that it takes before it is read.
 *
 * @throws ServiceError `not_found` for an unknown id, a wrong secret and a stamp without content alike.
 */
export type DownloadSealed = (
  tokenId: string,
  secret: string,
  reserve: (bytes: number) => Promise<void>,
) => Promise<{ content: Buffer; hash: string }>;

const notFound = () => new ServiceError('not_found', 'There is no content at this address.');

export function createSealedDownload(deps: { stamps: StampStore; sealedContents: SealedContentStore }): DownloadSealed {
  return async (tokenId, secret, reserve) => {
    const stamp = await deps.stamps.find(tokenId);
    if (!stamp?.sealed || !timingSafeEqual(Buffer.from(digestOfSecret(secret)), Buffer.from(stamp.sealed.secretSha256))) throw notFound();
    await reserve(stamp.sealed.bytes);
    const sealed = await deps.sealedContents.get(stamp.sealed.contentId);
    const content = sealed && openContent(secret, tokenId, sealed);
    if (!content || createHash('sha256').update(content).digest('hex') !== stamp.imprint.digest) {
      throw new ServiceError('internal_error', 'The stored content does not match its stamp and is not sent.');
    }
    return { content, hash: stamp.imprint.digest };
  };
}
