import { type KeyObject, randomBytes } from 'node:crypto';
import type { StampOrder } from '../../shared/contract/stamp.ts';
import type { Callback } from '../../shared/contract/webhook.ts';
import type { Caller } from '../../shared/domain/caller.ts';
import { deriveKey, encryptMetadata, nonceBytes } from '../../shared/domain/encryption.ts';
import type { StampItem } from '../../shared/queue/stamp-job.ts';
import type { Clock } from '../../shared/runtime/clock.ts';

/** Who asks for a stamp, and what is stored of his request. */
export interface Asker {
  readonly caller: Caller;
  readonly requestId: string;
  readonly paymentClaim: string | undefined;
}

/**
 * The item of an order without its content: what the caller says is encrypted under a key of the stamp (S4, N2). `sealedUrl`: the secret address of
 * its content.
 *
 * @throws ServiceError `store_unavailable`
 */
export type MakeItem = (order: StampOrder, tokenId: string, asker: Asker, sealedUrl?: string | null) => Promise<StampItem>;

/** Encrypts what a caller says about a stamp under a key of that stamp. @throws ServiceError `store_unavailable` */
export type EncryptForStamp = (tokenId: string, said: object) => Promise<string>;

/** `metadataKey`: from it the key of each stamp is derived. */
export const createStampEncryption =
  (metadataKey: () => Promise<KeyObject>): EncryptForStamp =>
  async (tokenId, said) => {
    const cipher = { key: deriveKey(await metadataKey(), tokenId), nonce: randomBytes(nonceBytes) };
    return encryptMetadata(cipher, tokenId, JSON.stringify(said));
  };

export function createItemMaker({ encryptedOf, clock }: { encryptedOf: EncryptForStamp; clock: Clock }): MakeItem {
  return async ({ imprint, tier, metadata, callbackUrl: url }, tokenId, { caller, requestId, paymentClaim }, sealedUrl = null) => ({
    tokenId,
    imprint,
    tier,
    caller,
    acceptedAt: clock(),
    requestId,
    ...(metadata && { metadata: await encryptedOf(tokenId, metadata) }),
    ...(paymentClaim !== undefined && { paymentClaim }),
    ...(url !== undefined && {
      callback: await encryptedOf(tokenId, { url, sealed_storage_url: sealedUrl, product: caller.product } satisfies Callback),
    }),
  });
}
