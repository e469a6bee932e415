import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { digestCharacters, type EvidenceTerm, type ImprintAlgorithm } from '../../shared/domain/stamp.ts';
import { buildHashTree, type HashTree } from '../../shared/rfc3161/index.ts';
import type { RenewedSubject } from '../../shared/store/evidence-terms.ts';
import type { OpenRenewal, RenewalMember } from '../../shared/store/renewals.ts';
import { ProviderError, type TimestampProvider } from '../providers/index.ts';

/** Evidence for the next token to cover. */
export interface Candidate extends Omit<RenewalMember, 'blind' | 'isRenewed'> {
  /** The algorithm of the hashes to cover. */
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
    // Without the group itself, which the record of a subject contains.
    isRenewed ? [{ kind, id, renewals, newImprint, batchRenewals, path: tree.pathOf(index) }] : [],
  );
}

/**
 * Whether a token is useful for evidence with the term `own`: it was issued before that ends, and lasts longer, both by certificates and by
 * algorithms. If its algorithms last no longer than the evidence's own, longer certificates are enough once the own certificates end by `dueBy`:
 * otherwise the evidence would expire while the TSA has no better key.
 */
function isOfUse({ term, issuedAt }: Pick<OpenRenewal, 'term' | 'issuedAt'>, own: EvidenceTerm, dueBy: Date): boolean {
  if (Date.parse(issuedAt) > own.endsAt.getTime()) return false;
  return own.renewBy < term.renewBy || (own.endsAt <= dueBy && own.endsAt < term.endsAt);
}

/** Whether a token renews this candidate. A token for a new digest need not last longer than the evidence, but must not shorten it. */
export function isRenewedBy(
  token: Pick<OpenRenewal, 'term' | 'issuedAt'>,
  { newImprint, term }: Pick<Candidate, 'newImprint' | 'term'>,
  dueBy: Date,
): boolean {
  if (newImprint === undefined) return isOfUse(token, term, dueBy);
  return Date.parse(token.issuedAt) <= term.endsAt.getTime() && token.term.endsAt >= term.endsAt;
}

/**
 * Requests one token over all candidates. Candidates for which it is not useful are not renewed.
 *
 * @param wanted `dueBy`: evidence that ends by then must be renewed
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
