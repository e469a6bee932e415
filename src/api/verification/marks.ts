import { type Qualification, trialOf } from '../../shared/domain/qualification.ts';
import type { StampMark } from './stamp-model.ts';

const words = {
  qualified: { icon: 'check', text: 'Qualified' },
  not_qualified: { icon: 'warning', text: 'Not qualified' },
  test: { icon: 'warning', text: 'Test stamp' },
  not_asked: { icon: 'pending', text: 'Not asked yet' },
  refused: { icon: 'cross', text: 'Does not verify' },
  not_proved: { icon: 'warning', text: 'Not proved' },
};

/** The mark beside the name of a provider, on every page. */
export interface MarkShown {
  readonly name: keyof typeof words;
  readonly icon: string;
  readonly text: string;
  /** Whether only the operator calls it qualified, and no trusted list. */
  readonly isClaimed: boolean;
}

export function markOf(name: MarkShown['name'], basis: Qualification['basis'] | undefined): MarkShown {
  const { icon, text } = words[name];
  const isClaimed = name === 'qualified' && basis === 'operator';
  return { name, icon, text: isClaimed ? `${text}, claimed by the operator` : text, isClaimed };
}

export function markOfStamp({ verdict, qualification, isQualified }: StampMark): MarkShown {
  if (verdict.kind !== 'proved') return markOf(verdict.kind, null);
  if (trialOf(qualification)) return markOf('test', null);
  return markOf(isQualified ? 'qualified' : 'not_qualified', qualification?.basis);
}
