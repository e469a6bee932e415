import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { digestCharacters, type EvidenceTerm, type ImprintAlgorithm } from '../../shared/domain/stamp.ts';
import { buildHashTree, type HashTree } from '../../shared/rfc3161/index.ts';
import type { RenewedSubject } from '../../shared/store/evidence-terms.ts';
import type { OpenRenewal, RenewalMember } from '../../shared/store/renewals.ts';
import { ProviderError, type TimestampProvider } from '../providers/index.ts';

/** Evidence that the next token may cover. */
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
