import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { crownOf, leafRecordOf } from '../../src/shared/domain/evidence.ts';
import type { Batch, Imprint, ImprintAlgorithm, LeafProof } from '../../src/shared/domain/stamp.ts';
import { buildHashTree, tokenIn } from '../../src/shared/rfc3161/index.ts';
import type { NewLeaf } from '../../src/shared/store/batches.ts';
import type { StoredStamp } from '../../src/shared/store/stamps.ts';
import type { TsaLab } from './tsa-lab.ts';

/** Stamps of one batch, and the batch, like a worker makes them from an answer of the lab's TSA. Nothing is stored. */
export function makeBatchedStamps(
  tsa: TsaLab,
  count: number,
  { algorithm = 'sha256', timeMs }: { algorithm?: ImprintAlgorithm; timeMs?: number } = {},
): { batch: Batch; stamps: StoredStamp[]; leaves: NewLeaf[] } {
  const octets = { sha256: 32, sha384: 48, sha512: 64 }[algorithm];
  const random = () => Array.from({ length: count }, () => randomBytes(octets));
  const [digests, blinds] = [random(), random()];
  const tree = buildHashTree(
    algorithm,
    digests.map((digest) => [digest]),
    blinds,
  );
  const { asked, answer, nowMs } = tsa.specimen({ ask: { hash: algorithm, digest: tree.root }, ...(timeMs !== undefined && { timeMs }) });
  const issuedAt = `${new Date(timeMs ?? nowMs).toISOString().slice(0, 19)}Z`;
  const claims = { provider: 'tsa-1', isQualified: false, issuedAt };
  const batch: Batch = {
    batchId: randomUUIDv7(),
    root: { algorithm, digest: tree.root.toString('hex') },
    leaves: count,
    ...claims,
    tsq: Buffer.from(asked.der),
    tsr: answer,
    tst: tokenIn(answer)!,
    crown: crownOf(tree.levels),
  };
  const stamps = digests.map((digest, index): StoredStamp => {
    const imprint: Imprint = { algorithm, digest: digest.toString('hex') };
    const path = tree.pathOf(index);
    const token = leafRecordOf(imprint, batch, path).toString('base64');
    const proof: LeafProof = { kind: 'leaf', ...claims, token, batch, index, path };
    return {
      tokenId: randomUUIDv7(),
      imprint,
      proofs: [proof],
      tier: 'basic',
      caller: { kind: 'internal', product: 'test' },
      acceptedAt: new Date(),
      requestId: 'test',
    };
  });
  const leaves = stamps.map(({ tokenId, proofs: [proof] }) => ({ tokenId, blind: (proof as LeafProof).path[0]! }));
  return { batch, stamps, leaves };
}
