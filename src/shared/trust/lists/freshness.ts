import type { ListState } from '../../domain/service-state.ts';
import { ListRefusal, type TrustedList } from './trusted-list.ts';

const dayMs = 86_400_000;
/** Operators are warned this long before the next update is due. */
const warnMs = 7 * dayMs;

export function stateOf(nextUpdate: string | null, now: number): Exclude<ListState, 'missing'> {
  if (nextUpdate === null) return 'closed';
  const left = Date.parse(nextUpdate) - now;
  if (left < 0) return 'expired';
  return left < warnMs ? 'due_soon' : 'current';
}

/**
 * Checks that a list may replace the one in force: a withdrawn service would be granted again by an older list.
 *
 * @returns false if it is the list in force
 * @throws ListRefusal `list_number_fell`, `list_number_reused`
 */
export function isNewer(
  next: Pick<TrustedList, 'sequenceNumber' | 'sha256'>,
  inForce: Pick<TrustedList, 'sequenceNumber' | 'sha256'> | undefined,
): boolean {
  if (!inForce || next.sequenceNumber > inForce.sequenceNumber) return true;
  if (next.sha256 === inForce.sha256) return false;
  if (next.sequenceNumber < inForce.sequenceNumber) {
    throw new ListRefusal('list_number_fell', `It fell from ${inForce.sequenceNumber} to ${next.sequenceNumber}.`);
  }
  throw new ListRefusal('list_number_reused', `The number is ${next.sequenceNumber}.`);
}
