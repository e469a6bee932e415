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
  throw numberReused(next.sequenceNumber);
}

const numberReused = (number: number): ListRefusal => new ListRefusal('list_number_reused', `The number is ${number}.`);

/**
 * Chooses the newest list of each territory. If two lists have its number and different contents, nobody can tell which one is true: then none of this
 * territory is chosen, because an older one may grant a service that was withdrawn since.
 *
 * @param lists by any name, such as that of the file
 * @returns also the refusals of lists with a number that another one has
 */
export function newestLists<Name>(lists: ReadonlyMap<Name, TrustedList>): {
  readonly newest: readonly TrustedList[];
  readonly refused: ReadonlyMap<Name, ListRefusal>;
} {
  const newest: TrustedList[] = [];
  const refused = new Map<Name, ListRefusal>();
  for (const ofTerritory of Map.groupBy(lists, ([, { territory }]) => territory).values()) {
    for (const [name, list] of ofTerritory) {
      const isReused = ofTerritory.some(([, other]) => other.sequenceNumber === list.sequenceNumber && other.sha256 !== list.sha256);
      if (isReused) refused.set(name, numberReused(list.sequenceNumber));
    }
    const [name, list] = ofTerritory.reduce((a, b) => (b[1].sequenceNumber > a[1].sequenceNumber ? b : a));
    if (!refused.has(name)) newest.push(list);
  }
  return { newest, refused };
}
