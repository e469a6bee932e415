import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { batchRecordOf, evidenceRecordOf, lastAlgorithmOf, newImprintsOf, ownRenewalsOf } from '../../shared/domain/evidence.ts';
import {
  type Batch,
  digestCharacters,
  type EvidenceTerm,
  type Imprint,
  type ImprintAlgorithm,
  type Proof,
} from '../../shared/domain/stamp.ts';
import { buildHashTree, type HashTree } from '../../shared/rfc3161/index.ts';
import type { RenewedSubject, SubjectKind } from '../../shared/store/evidence-terms.ts';
import type { OpenRenewal, RenewalMember } from '../../shared/store/renewals.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { Store } from '../../shared/store/store.ts';
import { ProviderError, type TimestampProvider } from '../providers/index.ts';

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

export interface Candidate extends Omit<RenewalMember, 'blind' | 'isRenewed'> {
  readonly algorithm: ImprintAlgorithm;
  readonly term: EvidenceTerm;
}

type Grown = Pick<OpenRenewal, 'algorithm'> & { readonly members: readonly Pick<RenewalMember, 'group' | 'blind'>[] };

const treeOf = ({ algorithm, members }: Grown): HashTree =>
  buildHashTree(
    algorithm,
    members.map(({ group }) => [group]),
    members.map(({ blind }) => blind),
  );

/** The subjects that a renewal covers, with their paths to its root. */
export function renewedBy(renewal: OpenRenewal): RenewedSubject[] {
  const tree = treeOf(renewal);
  return renewal.members.flatMap(({ kind, id, renewals, newImprint, batchRenewals, isRenewed }, index) =>
    // The path does not contain the group itself, because the record of the subject contains it.
    isRenewed ? [{ kind, id, renewals, newImprint, batchRenewals, path: tree.pathOf(index) }] : [],
  );
}

/**
 * Whether a token can renew evidence with the term `own`. It must be issued before the evidence ends, and its own renewal must be due later. If it is
 * not due later, a token with longer certificates is enough when the evidence ends by `dueBy`: otherwise the evidence would expire while the TSA has
 * no better key.
 */
function isOfUse({ term, issuedAt }: Pick<OpenRenewal, 'term' | 'issuedAt'>, own: EvidenceTerm, dueBy: Date): boolean {
  if (Date.parse(issuedAt) > own.endsAt.getTime()) return false;
  return own.renewBy < term.renewBy || (own.endsAt <= dueBy && own.endsAt < term.endsAt);
}

/**
 * Whether a token renews this candidate. With a new digest, a token that ends at the same time as the evidence is enough, but not one that ends
 * earlier. In both cases it must be issued before the evidence ends.
 */
export function isRenewedBy(token: Pick<OpenRenewal, 'term' | 'issuedAt'>, { newImprint, term }: Candidate, dueBy: Date): boolean {
  if (newImprint === undefined) return isOfUse(token, term, dueBy);
  return Date.parse(token.issuedAt) <= term.endsAt.getTime() && token.term.endsAt >= term.endsAt;
}

/**
 * Requests one token over all candidates. Candidates for which it is not useful are not renewed.
 *
 * @param wanted `dueBy`: evidence that ends before this time must be renewed
 * @throws ProviderError
 */
export async function signTree(
  provider: TimestampProvider,
  candidates: readonly Candidate[],
  wanted: { readonly algorithm: ImprintAlgorithm; readonly requiresQualified: boolean; readonly dueBy: Date },
): Promise<OpenRenewal> {
  const { algorithm, requiresQualified, dueBy } = wanted;
  const leaves = candidates.map((candidate) => ({ ...candidate, blind: randomBytes(digestCharacters[algorithm] / 2) }));
  const digest = treeOf({ algorithm, members: leaves }).root.toString('hex');
  const renewalId = randomUUIDv7();
  const proof = await provider.stamp({ tokenId: renewalId, imprint: { algorithm, digest }, tier: 'basic', requiresQualified });
  if (proof.kind !== 'token' || proof.term === undefined)
    throw new ProviderError('evidence renewal needs tokens of a TSA; the mock provider makes none');
  const { provider: name, issuedAt, term, tsq, tsr } = proof;
  const members = leaves.map((leaf) => {
    const { term: _, algorithm: __, ...member } = leaf;
    return { ...member, isRenewed: isRenewedBy({ term, issuedAt }, leaf, dueBy) };
  });
  return { renewalId, algorithm, provider: name, issuedAt, term, tsq, tsr, tst: Buffer.from(proof.token, 'base64'), members };
}
