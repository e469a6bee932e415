import { setImmediate as nextTurn } from 'node:timers/promises';
import { batchRecordOf, evidenceRecordOf, lastAlgorithmOf, newImprintsOf, ownRenewalsOf } from '../../shared/domain/evidence.ts';
import type { Batch, EvidenceTerm, Imprint, ImprintAlgorithm, Proof } from '../../shared/domain/stamp.ts';
import type { SubjectKind } from '../../shared/store/evidence-terms.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { Store } from '../../shared/store/store.ts';

export interface SubjectRef {
  readonly kind: SubjectKind;
  readonly id: string;
}

/** Evidence that can be renewed: the evidence of one stamp, or of a batch for all its leaves. */
export interface Subject extends SubjectRef {
  readonly provider: string;
  readonly isQualified: boolean;
  readonly imprint: Imprint;
  readonly term: EvidenceTerm | undefined;
  /** The number of renewals. For a leaf, the renewals of its batch are not included. */
  readonly renewals: number;
  /** For a leaf without own renewals: the number of its batch's renewals. */
  readonly batchRenewals: number | undefined;
  /** The algorithm that the last renewal uses, or that of the imprint if there is no renewal. */
  readonly lastAlgorithm: ImprintAlgorithm;
  /** Digests of the document in other algorithms, needed to judge the record. */
  readonly newImprints: readonly Imprint[];
  /** The EvidenceRecord in DER; undefined if it is damaged or there is none. */
  readonly record: Buffer | undefined;
  /** The token without its renewals, in base64; undefined if it is damaged or there is none. */
  readonly token: string | undefined;
}

/** The number of subjects that are processed without a pause. The same process also makes stamps, so pauses are needed. */
const perTurn = 64;

/** Reads subjects in the given order, a few at a time. Subjects that are not in the store are left out. @throws ServiceError `store_unavailable` */
export async function* readSubjects({ stamps, batches }: Store, refs: readonly SubjectRef[]): AsyncGenerator<Subject> {
  for (let first = 0; first < refs.length; first += perTurn) {
    const some = refs.slice(first, first + perTurn);
    const ids = (wanted: SubjectKind) => some.filter(({ kind }) => kind === wanted).map(({ id }) => id);
    const [ofBatches, ofStamps] = await Promise.all([batches.findMany(ids('batch')), stamps.findMany(ids('stamp'))]);
    const found = [...[...ofBatches.values()].map(ofBatch), ...ofStamps.map(ofStamp)];
    const byId = new Map(found.map((subject) => [subject.id, subject]));
    yield* some.flatMap(({ id }) => byId.get(id) ?? []);
    await nextTurn();
  }
}

function ofStamp(stamp: StoredStamp): Subject {
  const [proof] = stamp.proofs;
  const { provider, isQualified } = proof;
  const ofBatchAlone = proof.kind === 'leaf' && proof.own === undefined;
  return {
    kind: 'stamp',
    id: stamp.tokenId,
    provider,
    isQualified,
    imprint: stamp.imprint,
    term: termOf(proof),
    renewals: ownRenewalsOf(proof).length,
    batchRenewals: ofBatchAlone ? (proof.batch.renewals?.length ?? 0) : undefined,
    lastAlgorithm: lastAlgorithmOf(stamp),
    newImprints: newImprintsOf(proof),
    record: evidenceRecordOf(stamp),
    token: proof.token || undefined,
  };
}

function termOf(proof: Proof): EvidenceTerm | undefined {
  if (proof.kind === 'mock') return undefined;
  return (proof.kind === 'leaf' ? (proof.own ?? proof.batch) : proof).term;
}

function ofBatch(batch: Batch): Subject {
  const { batchId: id, provider, isQualified, root: imprint, term, renewals = [], tst } = batch;
  return {
    kind: 'batch',
    id,
    provider,
    isQualified,
    imprint,
    term,
    renewals: renewals.length,
    batchRenewals: undefined,
    lastAlgorithm: imprint.algorithm,
    newImprints: [],
    record: batchRecordOf(batch),
    token: tst.toString('base64'),
  };
}
