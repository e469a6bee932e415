import type { EvidenceTerm, Imprint } from '../../shared/domain/stamp.ts';
import { renewalImprintOf } from '../../shared/rfc3161/index.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import { type EvidenceTermStore, type SubjectKind, subjectKinds, type UselessToken } from '../../shared/store/evidence-terms.ts';
import type { NewDigestStore } from '../../shared/store/new-digests.ts';
import type { OpenRenewal, RenewalStore } from '../../shared/store/renewals.ts';
import { ProviderError, type TimestampProvider } from '../providers/index.ts';
import { createGatherings, type Gathering, keyOf, type TokenKind } from './gatherings.ts';
import { readSubjects, type Subject, type SubjectRef, type SubjectSources } from './renewal-subjects.ts';
import { type Candidate, isRenewedBy, renewedBy, signTree } from './renewal-tree.ts';

const hourMs = 3_600_000;
/** Runs are a day apart, some a little less. */
const soonestMs = 20 * hourMs;
const latestMs = 7 * 24 * hourMs;
/** A share of the remaining time. */
const share = 0.1;

/**
 * Tokens that renewed nothing. While a TSA has no better certificates, the next one is bought only after a week, or after a tenth of the remaining
 * time if that is less, but at the earliest after a day.
 *
 * @param known the last one of each kind
 */
function createUselessTokens(known: ReadonlyMap<string, UselessToken>, clock: Clock) {
  const tokens = new Map(known);
  return {
    add: (kind: TokenKind, token: Omit<UselessToken, 'boughtAt'>): UselessToken => {
      const useless = { ...token, boughtAt: new Date(clock()) };
      tokens.set(keyOf(kind), useless);
      return useless;
    },
    /** Whether a recently bought token of this kind would be useless for this candidate too. */
    has: (kind: TokenKind, candidate: Pick<Candidate, 'newImprint' | 'term'>, dueBy: Date): boolean => {
      const token = tokens.get(keyOf(kind));
      if (token === undefined || isRenewedBy(token, candidate, dueBy)) return false;
      const pauseMs = Math.max(soonestMs, Math.min(latestMs, share * (candidate.term.endsAt.getTime() - clock())));
      return clock() - token.boughtAt.getTime() < pauseMs;
    },
  };
}

/** The maximum number of records in one request. */
const mostLeavesOfAll = 4_096;
/** The number of due ids that are read at a time. */
const idsPerRead = 65_536;
/** The number of new digests that are read at a time. */
const digestsPerRead = 1_000;

export interface RenewalDeps extends SubjectSources {
  readonly evidenceTerms: Pick<EvidenceTermStore, 'findDue' | 'lapse' | 'readUseless' | 'noteUseless'>;
  readonly renewals: Pick<RenewalStore, 'begin' | 'findUnfinished' | 'give' | 'finish'>;
  readonly newDigests: Pick<NewDigestStore, 'list' | 'remove'>;
  readonly provider: TimestampProvider;
  /** Whether any provider is qualified: then qualified evidence is renewed by a qualified provider. */
  readonly servesQualified: boolean;
  readonly renewBeforeMs: number;
  /** Asks a TSA again at once even if its last token was useless, for a run by command: it may have other certificates now. */
  readonly isByCommand?: boolean;
  /** The maximum number of records in one request; default 4 096. */
  readonly mostLeaves?: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The result of a run: stamps and batches that were renewed, or that had expired or are damaged; requests to TSAs. */
export interface RenewalOutcome {
  renewed: number;
  lapsed: number;
  asks: number;
}

/**
 * Renews evidence that must be renewed within `renewBeforeMs`, and covers the new digests of documents, with one token for up to 4 096 stamps and
 * batches (RFC 4998 §5.2). It first finishes what an earlier run began. New digests come last, because they are not urgent. If no TSA makes one
 * kind of token, the other kinds are still made. It may be killed at any time and may run twice at once: a token renews only
 * evidence whose last token it covers.
 *
 * @param done updated during the run
 * @throws ServiceError `store_unavailable`, ProviderError: everything done so far stays, and the next run continues
 */
export async function renewEvidence(deps: RenewalDeps, done: RenewalOutcome): Promise<void> {
  const { evidenceTerms, renewals, newDigests, provider, servesQualified, renewBeforeMs, clock, log } = deps;
  const { isByCommand = false, mostLeaves = mostLeavesOfAll } = deps;

  const dueBy = () => new Date(clock() + renewBeforeMs);
  const useless = createUselessTokens(isByCommand ? new Map() : await evidenceTerms.readUseless(), clock);

  async function write(renewal: OpenRenewal): Promise<void> {
    const { renewalId, provider: name, term } = renewal;
    const renewed = await renewals.give(renewal, renewedBy(renewal));
    await renewals.finish(renewalId);
    done.renewed += renewed;
    log.info({ renewalId, provider: name, renewed, holdsUntil: term.endsAt.toISOString() }, 'evidence was renewed');
  }

  /** By kind of token: a kind that failed is not requested again in this run. */
  const failures = new Map<string, ProviderError>();

  async function sign({ kind, candidates }: Gathering): Promise<void> {
    if (failures.has(keyOf(kind))) return;
    done.asks += 1;
    const renewal = await signTree(provider, candidates, { ...kind, dueBy: dueBy() }).catch((error: unknown) => {
      if (!(error instanceof ProviderError)) throw error;
      failures.set(keyOf(kind), error);
    });
    if (renewal === undefined) return;
    if (!renewal.members.some(({ isRenewed }) => isRenewed)) {
      const { issuedAt, term } = renewal;
      await evidenceTerms.noteUseless(keyOf(kind), useless.add(kind, { issuedAt, term }));
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

  /** Renews due evidence once; returns whether there may be more to renew. */
  async function pass(): Promise<boolean> {
    const before = done.renewed;
    const until = dueBy();
    const { refs, isMore } = await findDue(until);
    const gatherings = createGatherings(mostLeaves, sign);
    const lost: Subject[] = [];
    for await (const subject of readSubjects(deps, refs)) {
      const candidate = candidateOf(subject, clock());
      if (candidate === undefined) lost.push(subject);
      else if (!useless.has(kindOf(subject, candidate), candidate, until)) await gatherings.add(kindOf(subject, candidate), candidate);
    }
    for (const [kind, subjects] of Map.groupBy(lost, (subject) => subject.kind)) await lapse(kind, subjects);
    await gatherings.signAll();
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
      const found = await Array.fromAsync(readSubjects(deps, refs));
      yield found.map((subject) => ({ subject, imprint: imprints.get(subject.id)! }));
    }
  }

  const isSettled = (subject: Subject, { algorithm }: Imprint) => subject.lastAlgorithm === algorithm || hasEnded(subject, clock());

  /**
   * Removes new digests that are covered, or whose evidence has expired; the end of lapsed evidence is not known any more. Digests that this run
   * covered are removed by the next run: another token may have come first.
   */
  async function dropSettledDigests(): Promise<void> {
    for await (const page of readNewDigests())
      await newDigests.remove(page.filter(({ subject, imprint }) => isSettled(subject, imprint)).map(({ subject }) => subject.id));
  }

  async function coverNewDigests(): Promise<void> {
    const until = dueBy();
    const gatherings = createGatherings(mostLeaves, sign);
    for await (const page of readNewDigests())
      for (const { subject, imprint } of page) {
        const candidate = isSettled(subject, imprint) ? undefined : candidateOf(subject, clock(), imprint);
        if (!candidate || useless.has(kindOf(subject, candidate), candidate, until)) continue;
        await gatherings.add(kindOf(subject, candidate), candidate);
      }
    await gatherings.signAll();
  }

  for (let open = await renewals.findUnfinished(); open; open = await renewals.findUnfinished()) await write(open);
  await dropSettledDigests();
  while (await pass());
  await coverNewDigests();
  const [failure] = failures.values();
  if (failure) throw failure;
}

/**
 * Undefined: there is nothing left that a new token could cover.
 *
 * @param newImprint of the document, to be covered together with everything before
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
