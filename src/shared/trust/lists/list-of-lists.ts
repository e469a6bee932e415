import type { ListReader } from './list-thread.ts';
import { ListRefusal, type TrustedList } from './trusted-list.ts';

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
