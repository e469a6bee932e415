import { type ReasonCode, reasonOf, type Verdict } from '../shared/domain/reasons.ts';
import type { TrustStore } from '../shared/rfc3161/index.ts';
import { BundleFault } from './bundle-read.ts';
import { type BundleJudgement, type FoundOutput, StampRefused } from './judge-bundle.ts';
import type { SubjectJudgement } from './judge-subject.ts';
import { countOf } from './terminal.ts';
import { type ToldVerdict, tellVerdict } from './verdict-text.ts';

/** A bundle whose own files do not fit, or whose stamps do not. */
export function tellBrokenBundle(name: string, fault: BundleFault | StampRefused): ToldVerdict {
  const reason = fault instanceof BundleFault ? `${fault.code}: ${fault.message}` : reasonOf(fault.code);
  const details = fault instanceof StampRefused ? [`of ${fault.what}`] : [];
  return {
    json: { subject: name, verdict: 'not_valid', valid: false, reason, issued_at: null, not_checked: [] },
    line: `${name}: NOT VALID, ${reason}`,
    details,
  };
}

/** The verdict on the bundle as a whole: both seals must hold; `no_token`: they are of the mock provider. */
export function verdictOf({ root, closing }: BundleJudgement): {
  readonly verdict: Verdict;
  readonly reason: ReasonCode | 'no_token' | undefined;
} {
  if (!root || !closing) return { verdict: 'not_proved', reason: 'no_token' };
  const [unproved] = [root, closing].filter(({ verdict }) => verdict !== 'valid');
  return { verdict: unproved ? 'not_proved' : 'valid', reason: unproved?.reason };
}

function ownNotes({ notProved, none }: BundleJudgement['own']): string[] {
  return [
    ...(notProved > 0 ? [`the own time-stamps of ${countOf(notProved, 'output')}: nobody whom you trust vouches for them`] : []),
    ...(none > 0 ? [`the own time-stamps of ${countOf(none, 'output')}: they are of the mock provider`] : []),
  ];
}

/** The time of the root is what is told of the outputs. What the closing record says of the workflow is only claimed: anybody may write one and have it stamped. */
export function tellBundle(name: string, judgement: BundleJudgement, trust: TrustStore, moreNotes: readonly string[]): ToldVerdict {
  const { record, root, closing, own } = judgement;
  const { verdict, reason } = verdictOf(judgement);
  const subject = { input: name, token: undefined, stampId: undefined, record: undefined };
  const stated: SubjectJudgement = { verdict, reason, stated: root?.stated, online: undefined };
  const { json, line, details } = tellVerdict(name, subject, stated, trust);
  const notes = [...ownNotes(own), ...moreNotes];
  const told = json as { readonly not_checked: readonly string[] };
  const isValid = verdict === 'valid';
  const outputs = countOf(record.output_count, 'output');
  const closedAt = closing?.stated?.genTime.toISOString() ?? null;
  return {
    json: {
      ...json,
      token_id: null,
      claimed: isValid ? record : null,
      closing_record_issued_at: isValid ? closedAt : null,
      own_stamps: { valid: own.valid, not_proved: own.notProved, none: own.none },
      not_checked: [...told.not_checked, ...notes],
    },
    line: isValid ? line.replace(': valid, existed at', `: valid, ${outputs} in this order existed at`) : line,
    details: [
      ...(isValid
        ? [
            `a record stamped at ${closedAt} says: workflow ${record.workflow_id}, tier ${record.tier}, started ${record.created_at}, ` +
              `link ${record.confirmed_at === null ? 'not opened' : `opened ${record.confirmed_at}`}, completed ${record.completed_at}`,
          ]
        : []),
      ...(reason === 'no_token'
        ? ['root and closing record were stamped by the mock provider, which proves nothing to anybody but its own service']
        : details),
      ...notes.map((note) => `not checked: ${note}`),
    ],
  };
}

/** What a file is looked for in. */
export interface SearchedBundle {
  readonly name: string;
  readonly verdict: Verdict;
  /** Undefined where the bundle does not hold. */
  readonly judgement: BundleJudgement | undefined;
}

interface Outcome {
  readonly verdict: Verdict;
  readonly reason: string | null;
  readonly line: string;
}

function outcomeOf(found: readonly FoundOutput[], { name, verdict, judgement }: SearchedBundle, time: string | null): Outcome {
  const refused = (reason: string): Outcome => ({ verdict: 'not_valid', reason, line: `NOT VALID, ${reason}` });
  if (judgement === undefined) return refused('bundle_not_valid: The bundle does not hold, so nothing is told of its outputs.');
  if (found.length === 0) return refused('not_in_bundle: The file is no output of this workflow, or has changed.');
  const numbers = found.map(({ sequenceNumber }) => sequenceNumber).join(', ');
  const place = `output ${numbers} of ${judgement.record.output_count} in ${name}`;
  if (verdict === 'valid') return { verdict, reason: null, line: `valid, existed at ${time}; ${place}` };
  const reason = 'bundle_not_proved: Nobody whom you trust vouches for the bundle.';
  return { verdict: 'not_proved', reason, line: `NOT PROVED, ${reason} It would be ${place}` };
}

/** What is told of a file that was looked for in a bundle. */
export function tellFound(path: string, sha256: string, searched: SearchedBundle): ToldVerdict & { readonly verdict: Verdict } {
  const { judgement } = searched;
  const found = judgement?.found.get(sha256) ?? [];
  const time = found[0]?.stampedAt ?? judgement?.root?.stated?.genTime.toISOString() ?? null;
  const { verdict, reason, line } = outcomeOf(found, searched, time);
  const isValid = verdict === 'valid';
  return {
    verdict,
    json: {
      subject: path,
      verdict,
      valid: isValid,
      reason,
      issued_at: isValid ? time : null,
      content_sha256: sha256,
      sequence_numbers: found.map(({ sequenceNumber }) => sequenceNumber),
      claimed: isValid && judgement ? { workflow_id: judgement.record.workflow_id, output_count: judgement.record.output_count } : null,
      not_checked: [],
    },
    line: `${path}: ${line}`,
    details: [],
  };
}
