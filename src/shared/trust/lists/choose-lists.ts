import { basename } from 'node:path';
import { newestLists } from './freshness.ts';
import { readListOfLists } from './list-of-lists.ts';
import type { ListReader } from './list-thread.ts';
import { ListRefusal, type TrustedList } from './trusted-list.ts';

/** What became of each file, and the lists that count. */
export interface ChosenLists {
  /** By file. */
  readonly read: ReadonlyMap<string, TrustedList | ListRefusal>;
  /** The newest list of lists, and the newest list of each country. */
  readonly newest: readonly TrustedList[];
}

/**
 * Verifies the lists in some files, wherever they come from, and chooses those that count: first the newest list of lists, because it names the signers
 * of the others, then the newest list of each country. Pivots must be among the files, under their own names.
 *
 * @param signers the certificates that may sign, DER. Undefined: any signer is taken
 */
export async function chooseLists(
  documents: ReadonlyMap<string, Uint8Array>,
  signers: readonly Uint8Array[] | undefined,
  reader: ListReader,
): Promise<ChosenLists> {
  const lists = new Map<string, TrustedList | ListRefusal>();
  for (const [file, document] of documents) lists.set(file, await orRefusal(reader.read(document, 'embedded')));
  const namesOf = (kind: TrustedList['kind']) =>
    [...lists].filter(([, list]) => 'kind' in list && list.kind === kind).map(([name]) => name);
  /** Puts the verified lists in place of those that were only read, and returns the newest. */
  async function choose(names: readonly string[], verify: (document: Uint8Array, list: TrustedList) => Promise<TrustedList>) {
    for (const name of names) lists.set(name, await orRefusal(verify(documents.get(name)!, lists.get(name) as TrustedList)));
    const verified = names.flatMap((name) => {
      const list = lists.get(name)!;
      return list instanceof ListRefusal ? [] : [[name, list] as const];
    });
    const { newest, refused } = newestLists(new Map(verified));
    for (const [name, refusal] of refused) lists.set(name, refusal);
    return newest;
  }
  const fetchPivot = async (address: string): Promise<Uint8Array> => {
    const [, pivot] = [...documents].find(([file]) => basename(file) === basename(address)) ?? [];
    if (!pivot) throw new ListRefusal('list_pivot_broken', `${basename(address)} is not among the files.`);
    return pivot;
  };
  const [listOfLists] = await choose(namesOf('list_of_lists'), async (document, list) =>
    signers ? readListOfLists(document, signers, reader, fetchPivot) : list,
  );
  const countries = await choose(namesOf('country_list'), async (document, list) =>
    signers ? reader.read(document, [...signers, ...signersIn(listOfLists, list.territory)]) : list,
  );
  return { read: lists, newest: [...(listOfLists ? [listOfLists] : []), ...countries] };
}

/** The signers that a list of lists names for a country. */
export const signersIn = (listOfLists: TrustedList | undefined, country: string): readonly Uint8Array[] =>
  listOfLists?.pointers.filter(({ territory }) => territory === country).flatMap(({ signers }) => signers) ?? [];

const orRefusal = (list: Promise<TrustedList>): Promise<TrustedList | ListRefusal> =>
  list.catch((error) => {
    if (error instanceof ListRefusal) return error;
    throw error;
  });
