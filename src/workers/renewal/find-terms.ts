import type { EvidenceTerm } from '../../shared/domain/stamp.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import { type EvidenceTermStore, subjectKinds, type TermWalk } from '../../shared/store/evidence-terms.ts';
import type { TokenJudge } from '../../shared/trust/judge.ts';
import { algorithmPolicy } from './algorithm-policy.ts';
import { evidenceTermOf } from './evidence-term.ts';
import { readSubjects, type Subject, type SubjectSources } from './renewal-subjects.ts';

const perStep = 1_000;

export interface FindTermsDeps extends SubjectSources {
  readonly evidenceTerms: Pick<EvidenceTermStore, 'listTokens' | 'readWalk' | 'writeWalk' | 'setTerms'>;
  readonly tokenJudge: TokenJudge;
  readonly log: Logger;
}

/**
 * Finds until when evidence holds that was stored without saying so, by an earlier version; after a change of the algorithm policy, of all. Once
 * it is through there is nothing to do: what is stored since says it. It goes on where it was interrupted.
 *
 * @throws ServiceError `store_unavailable`
 */
export async function findTerms({ evidenceTerms, tokenJudge, log, ...sources }: FindTermsDeps): Promise<void> {
  const { revision } = algorithmPolicy;
  const last = await evidenceTerms.readWalk();
  const start = Object.fromEntries(subjectKinds.map((kind) => [kind, '']));
  let walk: TermWalk = last?.revision === revision ? last : { revision, isAnew: last !== undefined, after: start };

  /** A token by itself may have ended and is still valid (V5): its term then says that it is too late. */
  async function termOf({ record, renewals, token, provider, imprint }: Subject): Promise<EvidenceTerm | undefined> {
    const judged = renewals === 0 ? token : record?.toString('base64');
    const judgement = judged === undefined ? undefined : await tokenJudge.judge(judged, provider, imprint);
    if (!judgement?.ok || !judgement.verified) return undefined;
    return evidenceTermOf(judgement.verified.record?.tokens.at(-1) ?? judgement.verified);
  }

  let unknown = 0;
  for (const kind of subjectKinds) {
    for (let after = walk.after[kind]; after !== undefined; after = walk.after[kind]) {
      const { ids, next } = await evidenceTerms.listTokens(kind, after, perStep, walk.isAnew);
      const terms = new Map<string, EvidenceTerm>();
      for await (const subject of readSubjects(sources, kind, ids)) {
        const term = await termOf(subject);
        if (term) terms.set(subject.id, term);
        else unknown += 1;
      }
      await evidenceTerms.setTerms(kind, terms);
      const { [kind]: _, ...others } = walk.after;
      walk = { ...walk, after: next === undefined ? others : { ...others, [kind]: next } };
      await evidenceTerms.writeWalk(walk);
    }
  }
  if (unknown > 0) log.warn({ unknown }, 'evidence that is not trusted any more, or is damaged, will not be renewed');
}
