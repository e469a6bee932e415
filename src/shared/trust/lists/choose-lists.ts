import { X509Certificate } from 'node:crypto';
import { basename } from 'node:path';
import type { ListState } from '../../domain/service-state.ts';
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

/**
 * Reads the list of lists. The certificates of its signers are published in the Official Journal. When signers change, the old ones sign a pivot: a
 * list of lists that names the new ones. So the way from the published certificates to the present list leads over all pivots since then. If one of
 * the published certificates signed the present list itself, no pivot is needed.
 *
 * @param published the certificates from the Official Journal, DER
 * @param fetchPivot returns the pivot with this address, or throws a ListRefusal
 * @throws ListRefusal
 */
export async function readListOfLists(
  document: Uint8Array,
  published: readonly Uint8Array[],
  reader: ListReader,
  fetchPivot: (address: string) => Promise<Uint8Array>,
): Promise<TrustedList> {
  // Not yet trusted: only the addresses of pivots are taken from it. What they lead to must have the right signatures.
  const { kind, pivotChains } = await reader.read(document, 'embedded');
  if (kind !== 'list_of_lists') throw new ListRefusal('list_malformed', 'It is not a list of lists.');
  // This is also the case if the present list is itself the newest pivot.
  const direct = await followWay([document], published, reader);
  if (direct) return direct;
  for (const chain of pivotChains.filter(({ length }) => length > 0)) {
    const pivots: Uint8Array[] = [];
    for (const address of chain) pivots.push(await fetchPivot(address));
    const way = [...pivots.filter((pivot) => !Buffer.from(pivot).equals(document)), document];
    const list = await followWay(way, published, reader);
    if (list) return list;
  }
  throw new ListRefusal('list_wrong_signer', 'Neither it nor a pivot is signed with one of the certificates from the Official Journal.');
}

/** Returns undefined if the given certificates did not sign the first list: they belong to another announcement. @throws ListRefusal */
async function followWay(
  way: readonly Uint8Array[],
  published: readonly Uint8Array[],
  reader: ListReader,
): Promise<TrustedList | undefined> {
  let signers = published;
  for (const [index, document] of way.entries()) {
    try {
      const list = await reader.read(document, signers);
      if (list.kind !== 'list_of_lists') throw new ListRefusal('list_malformed', 'It is not a list of lists.');
      if (index === way.length - 1) return list;
      signers = list.pointers
        .filter(({ kind, territory }) => kind === list.kind && territory === list.territory)
        .flatMap((own) => own.signers);
    } catch (error) {
      if (!(error instanceof ListRefusal)) throw error;
      if (index === 0 && error.code === 'list_wrong_signer') return undefined;
      if (index === way.length - 1) throw error;
      throw new ListRefusal('list_pivot_broken', `Pivot ${index + 1} of ${way.length - 1} is refused: ${error.message}`);
    }
  }
  return undefined;
}

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

/**
 * Reads the certificates of a file, PEM with any number of blocks or one in DER. The verifier of tokens is too strict for some signers of lists, so
 * Node.js reads them.
 *
 * @returns DER @throws Error with one sentence
 */
export function readSignersFile(file: Uint8Array): Uint8Array[] {
  if (file[0] === 0x30) return [certificateOf(file)];
  const blocks = Buffer.from(file)
    .toString('latin1')
    .match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  if (!blocks) throw new Error('It has no certificate.');
  return blocks.map(certificateOf);
}

function certificateOf(material: string | Uint8Array): Uint8Array {
  try {
    return new X509Certificate(material).raw;
  } catch {
    throw new Error('A certificate in it cannot be read.');
  }
}
