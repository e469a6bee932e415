import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { crownOf, leafRecordOf } from '../../shared/domain/evidence.ts';
import { type Batch, digestCharacters, type Imprint, type LeafProof, type TokenProof } from '../../shared/domain/stamp.ts';
import { buildHashTree } from '../../shared/rfc3161/index.ts';

/**
 * A hash tree over stamps that are requested together, before and after a TSA has signed its root (RFC 4998 §4.2). All imprints have the same
 * algorithm, and the proofs are in their order.
 */
export function plantTree(imprints: readonly [Imprint, ...Imprint[]]) {
  const [{ algorithm }] = imprints;
  const octets = digestCharacters[algorithm] / 2;
  const random = randomBytes(imprints.length * octets);
  const tree = buildHashTree(
    algorithm,
    imprints.map(({ digest }) => [Buffer.from(digest, 'hex')]),
    imprints.map((_, i) => random.subarray(i * octets, (i + 1) * octets)),
  );
  const crown = crownOf(tree.levels);
  const batchId = randomUUIDv7();
  const root: Imprint = { algorithm, digest: tree.root.toString('hex') };
  return {
    batchId,
    root,
    batchOf: ({ provider, isQualified, qualification, issuedAt, token, tsq, tsr, term }: TokenProof): Batch => {
      const tst = Buffer.from(token, 'base64');
      return { batchId, root, leaves: imprints.length, provider, isQualified, qualification, issuedAt, tsq, tsr, tst, crown, term };
    },
    proofsOf: (batch: Batch): LeafProof[] => imprints.map((imprint, index) => new Leaf(imprint, batch, index, tree.pathOf(index))),
  };
}

/** Composes its record only when `token` is read: the store and the queue do not need it. A copy made with `...` has no `token`. */
class Leaf implements LeafProof {
  readonly kind = 'leaf';
  readonly provider: string;
  readonly isQualified: boolean;
  readonly qualification: LeafProof['qualification'];
  readonly issuedAt: string;
  readonly batch: Batch;
  readonly index: number;
  readonly path: readonly Buffer[];
  readonly #imprint: Imprint;

  constructor(imprint: Imprint, batch: Batch, index: number, path: readonly Buffer[]) {
    this.provider = batch.provider;
    this.isQualified = batch.isQualified;
    this.qualification = batch.qualification;
    this.issuedAt = batch.issuedAt;
    this.batch = batch;
    this.index = index;
    this.path = path;
    this.#imprint = imprint;
  }

  get token(): string {
    return leafRecordOf(this.#imprint, this.batch, this.path).toString('base64');
  }
}
