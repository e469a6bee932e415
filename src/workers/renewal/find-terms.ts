import { algorithmPolicy } from '../../shared/domain/algorithm-policy.ts';
import type { ReasonCode } from '../../shared/domain/reasons.ts';
import type { EvidenceTerm } from '../../shared/domain/stamp.ts';
import { type SubjectKind, subjectKinds, type TermWalk } from '../../shared/store/evidence-terms.ts';
import { evidenceTermOf } from '../providers/index.ts';
import type { RenewalTools } from '../tools.ts';
import { readSubjects, type Subject } from './renewal-subjects.ts';

const perStep = 1_000;

/** With one of these codes a record stays invalid, even if a missing trust anchor is configured again. */
const endedCodes: ReadonlySet<ReasonCode> = new Set(['evidence_expired', 'evidence_renewed_late']);

/**
 * Finds out when evidence ends, and stores that: after a change of the algorithm policy for all evidence, and in each run for evidence that could not
 * be judged before, because its trust anchor may be configured again. An interrupted run continues.
 *
 * @throws ServiceError `store_unavailable`
 */
export async function findTerms({ store, tokenJudge, log }: RenewalTools): Promise<void> {
  const { evidenceTerms } = store;

  /** The end of one subject's evidence. The token alone may still be judged valid after it expired (V5); then it is too late to renew it. */
  async function termOf({ record, renewals, token, provider, imprint, newImprints }: Subject): Promise<EvidenceTerm | 'ended' | 'unknown'> {
    const judged = renewals === 0 ? token : record?.toString('base64');
    const judgement = judged === undefined ? undefined : await tokenJudge.judge(judged, { provider, imprints: [imprint, ...newImprints] });
    if (judgement?.ok === false && endedCodes.has(judgement.code)) return 'ended';
    if (!judgement?.ok || !judgement.verified) return 'unknown';
    return evidenceTermOf(judgement.verified.record?.tokens.at(-1) ?? judgement.verified);
  }

  async function judge(kind: SubjectKind, ids: readonly string[]): Promise<void> {
    const terms = new Map<string, EvidenceTerm>();
    const unknown = new Set(ids);
    for await (const subject of readSubjects(
      store,
      ids.map((id) => ({ kind, id })),
    )) {
      const term = await termOf(subject);
      if (term !== 'unknown') unknown.delete(subject.id);
      if (typeof term === 'object') terms.set(subject.id, term);
    }
    await evidenceTerms.setTerms(kind, terms);
    await evidenceTerms.setUnknown(kind, [...unknown]);
    if (unknown.size > 0)
      log.warn({ kind, unknown: unknown.size, first: [...unknown][0] }, 'some evidence cannot be judged, so it is not renewed');
  }

  async function judgeUnknown(kind: SubjectKind): Promise<void> {
    let ids: readonly string[] = [];
    do {
      ids = await evidenceTerms.findUnknown(kind, ids.at(-1) ?? '', perStep);
      await judge(kind, ids);
    } while (ids.length === perStep);
  }

  const { revision } = algorithmPolicy;
  const last = await evidenceTerms.readWalk();
  const start = Object.fromEntries(subjectKinds.map((kind) => [kind, '']));
  let walk: TermWalk = last?.revision === revision ? last : { revision, after: start };
  for (const kind of subjectKinds) {
    await judgeUnknown(kind);
    for (let after = walk.after[kind]; after !== undefined; after = walk.after[kind]) {
      const { ids, next } = await evidenceTerms.listTokens(kind, after, perStep);
      await judge(kind, ids);
      const { [kind]: _, ...others } = walk.after;
      walk = { ...walk, after: next === undefined ? others : { ...others, [kind]: next } };
      await evidenceTerms.writeWalk(walk);
    }
  }
}
