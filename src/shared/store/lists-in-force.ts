import { every } from '../runtime/every.ts';
import type { Logger } from '../runtime/log.ts';
import { answerWithin } from '../runtime/within.ts';
import { createListIndex, type ListIndex, type TrustedList } from '../trust/lists/index.ts';
import type { TrustedListStore } from './trusted-lists.ts';

/** A new list is known to all processes after this time. */
const lookEveryMs = 5_000;
/** How long the start of a process waits for the lists. */
const longestStartMs = 5_000;

/** The trusted lists in force, in the memory of a process. */
interface ListsInForce {
  /** The lists of the countries, and the list of lists that led to them. */
  current(): ListIndex;
  stop(): void;
}

export const noLists: ListsInForce = { current: () => empty, stop: () => undefined };
const empty = createListIndex([]);

/** Reads the lists in force once, for a command. @throws ServiceError `store_unavailable` */
export async function readListsInForce({ readInForce, findSaid }: TrustedListStore): Promise<ListIndex> {
  const ids = (await readInForce()).flatMap(({ list }) => list?.sha256 ?? []);
  return createListIndex((await Promise.all(ids.map(findSaid))).filter((said) => said !== undefined));
}

/** Reads the lists in force, and again when they change. While the store does not answer, the last ones stay. */
export async function watchLists({ readInForce, findSaid }: TrustedListStore, log: Logger): Promise<ListsInForce> {
  const stopping = new AbortController();
  let index = empty;
  let known = new Map<string, TrustedList>();

  async function look(): Promise<void> {
    const ids = (await readInForce()).flatMap(({ list }) => list?.sha256 ?? []);
    if (ids.length === known.size && ids.every((id) => known.has(id))) return;
    const lists = new Map<string, TrustedList>();
    for (const id of ids) {
      const said = known.get(id) ?? (await findSaid(id));
      if (said) lists.set(id, said);
    }
    known = lists;
    index = createListIndex([...lists.values()]);
  }
  const lookSafely = () =>
    look().catch((error: unknown) => log.debug({ err: error }, 'the trusted lists cannot be read; the last ones stay'));

  const first = Promise.withResolvers<void>();
  void every(lookEveryMs, () => lookSafely().then(first.resolve), stopping.signal);
  await answerWithin(longestStartMs, () => first.promise);
  return { current: () => index, stop: () => stopping.abort() };
}
