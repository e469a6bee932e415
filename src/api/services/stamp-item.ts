import { type KeyObject, randomBytes } from 'node:crypto';
import type { StampOrder } from '../../shared/contract/stamp.ts';
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

/** The item of an order without its content: metadata is encrypted under a key of the stamp (S4). @throws ServiceError `store_unavailable` */
export type MakeItem = (order: StampOrder, tokenId: string, asker: Asker) => Promise<StampItem>;

/** `metadataKey`: from it the key of each stamp's metadata is derived. */
export function createItemMaker({ metadataKey, clock }: { metadataKey: () => Promise<KeyObject>; clock: Clock }): MakeItem {
  async function encryptedOf(tokenId: string, metadata: object): Promise<string> {
    const cipher = { key: deriveKey(await metadataKey(), tokenId), nonce: randomBytes(nonceBytes) };
    return encryptMetadata(cipher, tokenId, metadata);
  }
  return async ({ imprint, tier, metadata }, tokenId, { caller, requestId, paymentClaim }) => ({
    tokenId,
    imprint,
    tier,
    caller,
    acceptedAt: clock(),
    requestId,
    ...(metadata && { metadata: await encryptedOf(tokenId, metadata) }),
    ...(paymentClaim !== undefined && { paymentClaim }),
  });
}
