import type { EvidenceTerm } from '../../shared/domain/stamp.ts';
import { renewalImprintOf } from '../../shared/rfc3161/index.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import { type EvidenceTermStore, type SubjectKind, subjectKinds } from '../../shared/store/evidence-terms.ts';
import type { OpenRenewal, RenewalStore } from '../../shared/store/renewals.ts';
import type { TimestampProvider } from '../providers/provider.ts';
import { readSubjects, type Subject, type SubjectSources } from './renewal-subjects.ts';
import { type Candidate, isOfUse, renewedBy, signTree } from './renewal-tree.ts';

/** The most records that one request is for. */
const mostLeavesOfAll = 4_096;
/** How many ids of what is due are read at a time. */
const idsPerRead = 65_536;

export interface RenewalDeps extends SubjectSources {
  readonly evidenceTerms: Pick<EvidenceTermStore, 'findDue' | 'lapse'>;
  readonly renewals: Pick<RenewalStore, 'begin' | 'findUnfinished' | 'give' | 'finish'>;
  readonly provider: TimestampProvider;
  /** Whether any provider is qualified: then what is qualified is renewed by such a one. */
  readonly servesQualified: boolean;
  readonly renewBeforeMs: number;
  /** The most records that one request is for; default 4 096. */
  readonly mostLeaves?: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What was done: stamps and batches that were renewed, and that had ended or are damaged; requests to TSAs. */
export interface RenewalOutcome {
  renewed: number;
  lapsed: number;
  asks: number;
}

/** What goes into one tree: of one algorithm, and all for the same kind of TSA. */
interface Gathering {
  readonly key: string;
  readonly algorithm: Candidate['algorithm'];
  readonly requiresQualified: boolean;
  readonly candidates: Candidate[];
}

/**
 * Renews what must be renewed within `renewBeforeMs`, a token for up to 4 096 stamps and batches (RFC 4998 §5.2). First it finishes what an earlier run began.
 * It may be killed at any time, and may run twice at once: nothing is renewed by a token that is not over its last one.
 *
 * @param done is told what was done, as it is done
 * @throws ServiceError `store_unavailable`, ProviderError: what was done until then stays, and the next run goes on.
 */
export async function renewEvidence(deps: RenewalDeps, done: RenewalOutcome): Promise<void> {
  const { evidenceTerms, renewals, provider, servesQualified, renewBeforeMs, mostLeaves = mostLeavesOfAll, clock, log } = deps;

  const dueBy = () => new Date(clock() + renewBeforeMs);
  /** Of each kind of gathering the last token that renewed nobody: for those that it was of no use to, no other is asked for in this run. */
  const useless = new Map<string, OpenRenewal>();

  async function write(renewal: OpenRenewal): Promise<void> {
    const { renewalId, provider: name, term } = renewal;
    const renewed = await renewals.give(renewal, renewedBy(renewal));
    await renewals.finish(renewalId);
    done.renewed += renewed;
    log.info({ renewalId, provider: name, renewed, holdsUntil: term.endsAt.toISOString() }, 'evidence was renewed');
  }

  async function sign({ key, algorithm, requiresQualified, candidates }: Gathering): Promise<void> {
    done.asks += 1;
    const renewal = await signTree(provider, candidates, { algorithm, requiresQualified, dueBy: dueBy() });
    if (!renewal.members.some(({ isRenewed }) => isRenewed)) {
      const facts = { provider: renewal.provider, waiting: candidates.length, holdsUntil: renewal.term.endsAt.toISOString() };
      useless.set(key, renewal);
      log.warn(facts, 'evidence cannot be renewed: the certificates of the TSA do not last longer than those of the evidence');
      return;
    }
    await renewals.begin(renewal);
    await write(renewal);
  }

  async function lapse(kind: SubjectKind, subjects: readonly Subject[]): Promise<void> {
    if (subjects.length === 0) return;
    const lapsed = await evidenceTerms.lapse(kind, subjects, new Date(clock()));
    if (lapsed === 0) return;
    done.lapsed += lapsed;
    log.error({ kind, lapsed, first: subjects[0]!.id }, 'evidence has ended without a renewal, or is damaged');
  }

  /** One look at what is due; whether there may be more that can be renewed. */
  async function pass(): Promise<boolean> {
    const before = done.renewed;
    const until = dueBy();
    const gatherings = new Map<string, Gathering>();
    let isMore = false;
    for (const kind of subjectKinds) {
      const ids = await evidenceTerms.findDue(kind, until, idsPerRead);
      isMore ||= ids.length === idsPerRead;
      const lost: Subject[] = [];
      for await (const subject of readSubjects(deps, kind, ids)) {
        const candidate = candidateOf(subject, clock());
        if (candidate === undefined) {
          lost.push(subject);
          continue;
        }
        const requiresQualified = servesQualified && subject.isQualified;
        const key = `${candidate.algorithm} ${requiresQualified}`;
        const tried = useless.get(key);
        if (tried && !isOfUse(tried, candidate.term, until)) continue;
        const gathering = gatherings.get(key) ?? { key, algorithm: candidate.algorithm, requiresQualified, candidates: [] };
        gatherings.set(key, gathering);
        if (gathering.candidates.push(candidate) < mostLeaves) continue;
        gatherings.delete(key);
        await sign(gathering);
      }
      await lapse(kind, lost);
    }
    for (const gathering of gatherings.values()) await sign(gathering);
    return isMore && done.renewed > before;
  }

  for (let open = await renewals.findUnfinished(); open; open = await renewals.findUnfinished()) await write(open);
  while (await pass());
}

/** Undefined: there is nothing left that a new token could vouch for. */
function candidateOf({ kind, id, record, renewals, term }: Subject, nowMs: number): Candidate | undefined {
  const imprint = record && renewalImprintOf(record);
  if (imprint === undefined || !hasTime(term, nowMs)) return undefined;
  return { kind, id, renewals, algorithm: imprint.algorithm, group: imprint.digest, term };
}

const hasTime = (term: EvidenceTerm | undefined, nowMs: number): term is EvidenceTerm =>
  term !== undefined && term.endsAt.getTime() > nowMs;
