import { randomBytes } from 'node:crypto';
import { issueMockToken } from '../../src/shared/domain/mock-token.ts';
import { firstIdAt, sha256Imprint, stampTiers, timeOfId } from '../../src/shared/domain/stamp.ts';
import type { StoredStamp } from '../../src/shared/store/stamps.ts';
import type { Store } from '../../src/shared/store/store.ts';

const dayMs = 86_400_000;
const batchSize = 1_000;
const writers = 4;

/** The stamps are from this number of last days, the same number each day. */
const days = 60;

/** The number of stamps of product `rare`, the same for every total. */
export const rareStamps = 40;

/** The id number `index` of `count` ids, whose times are evenly spread over the last days, up to a minute ago. */
function idAt(index: number, count: number, nowMs: number): string {
  const random = randomBytes(9).toString('hex');
  const timeMs = nowMs - 60_000 - ((count - index) / count) * days * dayMs;
  return `${firstIdAt(timeMs)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6)}`;
}

/**
 * Writes `count` stamps of the mock provider as workers do, and counts them: half for product `often`, some for `rare`, the others for agents. Their
 * tokens are valid.
 */
export async function fill({ keys, stamps, counters }: Store, count: number): Promise<void> {
  const key = await keys.secret('mock-provider');
  const nowMs = Date.now();
  const everyRare = Math.floor(count / rareStamps);

  function stampAt(index: number): StoredStamp {
    const tokenId = idAt(index, count, nowMs);
    const timeMs = timeOfId(tokenId);
    const digest = randomBytes(32).toString('hex');
    const tier = stampTiers[index % 2 === 0 ? 0 : 1] ?? 'basic';
    const product = index % everyRare === everyRare - 1 ? 'rare' : 'often';
    return {
      tokenId,
      imprint: sha256Imprint(digest),
      proofs: [
        {
          kind: 'mock',
          provider: 'mock',
          isQualified: false,
          issuedAt: new Date(timeMs).toISOString(),
          token: issueMockToken(key, { tokenId, hash: digest, timeMs, tier }),
        },
      ],
      tier,
      caller: product === 'rare' || index % 2 === 0 ? { kind: 'internal', product } : { kind: 'agent' },
      acceptedAt: new Date(timeMs),
      requestId: tokenId,
      metadata: index % 4 === 0 ? randomBytes(90).toString('base64') : undefined,
    };
  }

  let next = 0;
  async function write(): Promise<void> {
    while (next < count) {
      const first = next;
      next += batchSize;
      const batch = Array.from({ length: Math.min(batchSize, count - first) }, (_, index) => stampAt(first + index));
      await stamps.insertOnce(batch);
      counters.addStamps(
        batch.map(({ acceptedAt, caller, proofs: [{ provider, isQualified }] }) => ({
          idMadeAt: acceptedAt.getTime(),
          callerKind: caller.kind,
          product: caller.product,
          provider,
          isQualified,
          outcome: 'stamped',
          latencyMs: 5,
        })),
      );
    }
  }
  await Promise.all(Array.from({ length: writers }, write));
}
