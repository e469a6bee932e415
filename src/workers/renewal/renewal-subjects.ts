import { setImmediate as nextTurn } from 'node:timers/promises';
import { batchRecordOf, evidenceRecordOf, renewalsOf } from '../../shared/domain/evidence.ts';
import type { Batch, EvidenceTerm, Imprint } from '../../shared/domain/stamp.ts';
import type { BatchStore } from '../../shared/store/batches.ts';
import type { SubjectKind } from '../../shared/store/evidence-terms.ts';
import type { StampStore, StoredStamp } from '../../shared/store/stamps.ts';

/** What can be renewed: the token of a stamp, or of a batch for all its leaves. */
export interface Subject {
  readonly kind: SubjectKind;
  readonly id: string;
  readonly provider: string;
  readonly isQualified: boolean;
  readonly imprint: Imprint;
  readonly term: EvidenceTerm | undefined;
  /** How many it has had. */
  readonly renewals: number;
  /** DER EvidenceRecord; undefined: damaged, or none. */
  readonly record: Buffer | undefined;
  /** The token without its renewals, base64; undefined: damaged, or none. */
  readonly token: string | undefined;
}

export interface SubjectSources {
  readonly stamps: Pick<StampStore, 'findMany'>;
  readonly batches: Pick<BatchStore, 'findMany'>;
}

/** So many are read, and worked on without a pause, at a time: stamps are made in the same process. */
const perTurn = 64;

/** Reads subjects, a few at a time. @throws ServiceError `store_unavailable` */
export async function* readSubjects(
  { stamps, batches }: SubjectSources,
  kind: SubjectKind,
  ids: readonly string[],
): AsyncGenerator<Subject> {
  for (let first = 0; first < ids.length; first += perTurn) {
    const some = ids.slice(first, first + perTurn);
    if (kind === 'stamp') yield* (await stamps.findMany(some)).map(ofStamp);
    else yield* [...(await batches.findMany(some)).values()].map(ofBatch);
    await nextTurn();
  }
}

function ofStamp(stamp: StoredStamp): Subject {
  const [proof] = stamp.proofs;
  const { provider, isQualified } = proof;
  return {
    kind: 'stamp',
    id: stamp.tokenId,
    provider,
    isQualified,
    imprint: stamp.imprint,
    term: proof.kind === 'token' ? proof.term : undefined,
    renewals: renewalsOf(proof).length,
    record: evidenceRecordOf(stamp),
    token: proof.token || undefined,
  };
}

function ofBatch(batch: Batch): Subject {
  const { batchId: id, provider, isQualified, root: imprint, term, renewals = [], tst } = batch;
  const token = tst.toString('base64');
  return { kind: 'batch', id, provider, isQualified, imprint, term, renewals: renewals.length, record: batchRecordOf(batch), token };
}
