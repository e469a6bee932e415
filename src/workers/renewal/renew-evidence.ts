import type { EvidenceTerm, Imprint } from '../../shared/domain/stamp.ts';
import { renewalImprintOf } from '../../shared/rfc3161/index.ts';
import type { Config } from '../../shared/runtime/config.ts';
import type { Clock } from '../../shared/runtime/timers.ts';
import { type SubjectKind, subjectKinds, type UselessToken } from '../../shared/store/evidence-terms.ts';
import type { OpenRenewal } from '../../shared/store/renewals.ts';
import { canServeQualified } from '../../shared/trust/trusted-providers.ts';
import { ProviderError } from '../providers/index.ts';
import type { RenewalTools } from '../tools.ts';
import { type Candidate, isRenewedBy, readSubjects, renewedBy, type Subject, type SubjectRef, signTree } from './renewal-subjects.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** After a useless token the shortest pause: less than a day, because two daily runs may be a little less than a day apart. */
const soonestMs = 20 * hourMs;
const latestMs = 7 * dayMs;
/** The pause is this share of the remaining time, within the two limits above. */
const share = 0.1;

export const dueByOf = ({ RENEW_BEFORE_DAYS }: Config, nowMs: number): Date => new Date(nowMs + RENEW_BEFORE_DAYS * dayMs);

/** The maximum number of records in one request, if `mostLeaves` is not given. */
const mostLeavesOfAll = 4_096;
const idsPerRead = 65_536;
const digestsPerRead = 1_000;

export interface RenewalOptions {
  /** True if an operator started the run. Then earlier useless tokens are ignored and the TSA is asked again: it may have other certificates now. */
  readonly isByCommand?: boolean;
  readonly mostLeaves?: number;
}

/**
 * Counts of a run: stamps and batches that were renewed; stamps and batches that had expired or are damaged (`lapsed`); requests to TSAs (`asks`).
 */
export interface RenewalOutcome {
  renewed: number;
  lapsed: number;
  asks: number;
}

/**
 * Renews evidence that must be renewed within `RENEW_BEFORE_DAYS`, and covers new digests of documents. One token covers up to 4 096 stamps and batches
 * (RFC 4998 §5.2). It first finishes the renewals that an earlier run began. New digests come last, because they are not urgent. If no TSA makes one
 * kind of token, the other kinds are still made. It may be killed at any time, and two runs may overlap: a token renews evidence only if it covers
 * the last token of that evidence.
 *
 * @param done updated during the run
 * @throws ServiceError `store_unavailable`, ProviderError: everything done so far stays, and the next run continues
 */
export async function renewEvidence(
  { config, trust, store, provider, clock, log }: RenewalTools,
  done: RenewalOutcome,
  { isByCommand = false, mostLeaves = mostLeavesOfAll }: RenewalOptions = {},
): Promise<void> {
  const { evidenceTerms, renewals, newDigests } = store;
  // If any provider is qualified, only a qualified provider renews qualified evidence.
  const servesQualified = canServeQualified(trust);
  const dueBy = () => dueByOf(config, clock());
  const useless = createUselessTokens(isByCommand ? new Map() : await evidenceTerms.readUseless(), clock);

  async function write(renewal: OpenRenewal): Promise<void> {
    const { renewalId, provider: name, term } = renewal;
    const renewed = await renewals.give(renewal, renewedBy(renewal));
    await renewals.finish(renewalId);
    done.renewed += renewed;
    log.info({ renewalId, provider: name, renewed, holdsUntil: term.endsAt.toISOString() }, 'evidence was renewed');
  }

  /** The failure of each kind of token. A kind that failed is not requested again in this run. */
  const failures = new Map<string, ProviderError>();

  async function sign({ kind, candidates }: PendingTree): Promise<void> {
    if (failures.has(nameOf(kind))) return;
    done.asks += 1;
    const renewal = await signTree(provider, candidates, { ...kind, dueBy: dueBy() }).catch((error: unknown) => {
      if (!(error instanceof ProviderError)) throw error;
      failures.set(nameOf(kind), error);
    });
    if (renewal === undefined) return;
    if (!renewal.members.some(({ isRenewed }) => isRenewed)) {
      const { issuedAt, term } = renewal;
      await evidenceTerms.noteUseless(nameOf(kind), useless.add(kind, { issuedAt, term }));
      const facts = { provider: renewal.provider, waiting: candidates.length, holdsUntil: term.endsAt.toISOString() };
      log.warn(facts, 'evidence cannot be renewed: the certificates of the TSA do not last longer than those of the evidence');
      return;
    }
    await renewals.begin(renewal);
    await write(renewal);
  }

  const kindOf = ({ isQualified }: Subject, { algorithm }: Candidate): TokenKind => ({
    algorithm,
    requiresQualified: servesQualified && isQualified,
  });

  async function lapse(kind: SubjectKind, subjects: readonly Subject[]): Promise<void> {
    if (subjects.length === 0) return;
    const lapsed = await evidenceTerms.lapse(kind, subjects, new Date(clock()));
    if (lapsed === 0) return;
    done.lapsed += lapsed;
    log.error({ kind, lapsed, first: subjects[0]!.id }, 'evidence has expired without a renewal, or is damaged');
  }

  async function findDue(until: Date): Promise<{ refs: SubjectRef[]; isMore: boolean }> {
    const found = await Promise.all(
      subjectKinds.map(async (kind) => (await evidenceTerms.findDue(kind, until, idsPerRead)).map((due) => ({ kind, ...due }))),
    );
    const refs = found.flat().sort((a, b) => a.endsAt.getTime() - b.endsAt.getTime());
    return { refs, isMore: found.some(({ length }) => length === idsPerRead) };
  }

  /** Renews due evidence once. Returns whether more evidence may be due. */
  async function pass(): Promise<boolean> {
    const before = done.renewed;
    const until = dueBy();
    const { refs, isMore } = await findDue(until);
    const trees = createPendingTrees(mostLeaves, sign);
    const lost: Subject[] = [];
    for await (const subject of readSubjects(store, refs)) {
      const candidate = candidateOf(subject, clock());
      if (candidate === undefined) lost.push(subject);
      else if (!useless.has(kindOf(subject, candidate), candidate, until)) await trees.add(kindOf(subject, candidate), candidate);
    }
    for (const [kind, subjects] of Map.groupBy(lost, (subject) => subject.kind)) await lapse(kind, subjects);
    await trees.signAll();
    return isMore && done.renewed > before;
  }

  async function* readNewDigests(): AsyncGenerator<{ subject: Subject; imprint: Imprint }[]> {
    for (
      let page = await newDigests.list('', digestsPerRead);
      page.length > 0;
      page = await newDigests.list(page.at(-1)!.tokenId, digestsPerRead)
    ) {
      const imprints = new Map(page.map(({ tokenId, imprint }) => [tokenId, imprint]));
      const refs = page.map(({ tokenId }) => ({ kind: 'stamp', id: tokenId }) as const);
      const found = await Array.fromAsync(readSubjects(store, refs));
      yield found.map((subject) => ({ subject, imprint: imprints.get(subject.id)! }));
    }
  }

  const isSettled = (subject: Subject, { algorithm }: Imprint) => subject.lastAlgorithm === algorithm || hasEnded(subject, clock());

  /**
   * Removes new digests that are covered already, or whose evidence has expired. Digests that this run covers are removed by the next run, which can
   * see whether another run's token covered the evidence first.
   */
  async function dropSettledDigests(): Promise<void> {
    for await (const page of readNewDigests())
      await newDigests.remove(page.filter(({ subject, imprint }) => isSettled(subject, imprint)).map(({ subject }) => subject.id));
  }

  async function coverNewDigests(): Promise<void> {
    const until = dueBy();
    const trees = createPendingTrees(mostLeaves, sign);
    for await (const page of readNewDigests())
      for (const { subject, imprint } of page) {
        const candidate = isSettled(subject, imprint) ? undefined : candidateOf(subject, clock(), imprint);
        if (!candidate || useless.has(kindOf(subject, candidate), candidate, until)) continue;
        await trees.add(kindOf(subject, candidate), candidate);
      }
    await trees.signAll();
  }

  for (let open = await renewals.findUnfinished(); open; open = await renewals.findUnfinished()) await write(open);
  await dropSettledDigests();
  while (await pass());
  await coverNewDigests();
  const [failure] = failures.values();
  if (failure) throw failure;
}

/**
 * The candidate for a subject. Undefined: its evidence cannot be renewed, because it has expired, is damaged, or has no known end.
 *
 * @param newImprint a new digest of the document, which the token covers together with the earlier evidence
 */
function candidateOf(subject: Subject, nowMs: number, newImprint?: Imprint): Candidate | undefined {
  const { kind, id, record, renewals, batchRenewals, term } = subject;
  const newDigest = newImprint && { algorithm: newImprint.algorithm, digest: Buffer.from(newImprint.digest, 'hex') };
  const imprint = record && renewalImprintOf(record, newDigest);
  if (imprint === undefined || term === undefined || hasEnded(subject, nowMs)) return undefined;
  const ofNewDigest = newImprint && { newImprint, ...(batchRenewals !== undefined && { batchRenewals }) };
  return { kind, id, renewals, algorithm: imprint.algorithm, group: imprint.digest, term, ...ofNewDigest };
}

const hasEnded = ({ term }: { readonly term: EvidenceTerm | undefined }, nowMs: number): boolean =>
  term !== undefined && term.endsAt.getTime() <= nowMs;

/**
 * Tokens that renewed nothing, because the TSA has no better certificates. After such a token, the next token of its kind is requested only after a
 * week, or after a tenth of the remaining time if that is shorter, but not before the next day.
 *
 * @param known the last useless token of each kind
 */
function createUselessTokens(known: ReadonlyMap<string, UselessToken>, clock: Clock) {
  const tokens = new Map(known);
  return {
    add: (kind: TokenKind, token: Omit<UselessToken, 'boughtAt'>): UselessToken => {
      const useless = { ...token, boughtAt: new Date(clock()) };
      tokens.set(nameOf(kind), useless);
      return useless;
    },
    /** Whether the last token of this kind is recent and would be useless for this candidate too. */
    has: (kind: TokenKind, candidate: Candidate, dueBy: Date): boolean => {
      const token = tokens.get(nameOf(kind));
      if (token === undefined || isRenewedBy(token, candidate, dueBy)) return false;
      const pauseMs = Math.max(soonestMs, Math.min(latestMs, share * (candidate.term.endsAt.getTime() - clock())));
      return clock() - token.boughtAt.getTime() < pauseMs;
    },
  };
}

/** The candidates for one tree. All have the same algorithm, and all need a qualified TSA or none does. */
interface PendingTree {
  readonly kind: TokenKind;
  readonly candidates: readonly Candidate[];
}

interface TokenKind {
  readonly algorithm: Candidate['algorithm'];
  readonly requiresQualified: boolean;
}

const nameOf = ({ algorithm, requiresQualified }: TokenKind): string => `${algorithm}${requiresQualified ? ' qualified' : ''}`;

/** Collects candidates for trees of at most `mostLeaves`, and signs each tree as soon as it is full. */
function createPendingTrees(mostLeaves: number, sign: (tree: PendingTree) => Promise<void>) {
  const open = new Map<string, { readonly kind: TokenKind; readonly candidates: Candidate[] }>();
  return {
    add: async (kind: TokenKind, candidate: Candidate): Promise<void> => {
      const key = nameOf(kind);
      const tree = open.get(key) ?? { kind, candidates: [] };
      open.set(key, tree);
      if (tree.candidates.push(candidate) < mostLeaves) return;
      open.delete(key);
      await sign(tree);
    },
    signAll: async (): Promise<void> => {
      for (const tree of open.values()) await sign(tree);
      open.clear();
    },
  };
}
