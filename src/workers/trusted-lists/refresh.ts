import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { TrustedListStore } from '../../shared/store/trusted-lists.ts';
import type { ListSource, ListSources } from '../../shared/trust/list-sources.ts';
import {
  isNewer,
  type ListPointer,
  type ListReader,
  ListRefusal,
  openListThread,
  readListOfLists,
  type TrustedList,
} from '../../shared/trust/lists/index.ts';
import { fetchList } from './fetch-list.ts';

/** SchemeTerritory of the EU list of lists. */
const european = 'EU';
const listMimeType = 'application/vnd.etsi.tsl+xml';

export interface RefreshDeps {
  readonly sources: ListSources;
  readonly trustedLists: TrustedListStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A list with the file that it was read from. */
interface FetchedList {
  readonly document: Uint8Array;
  readonly list: TrustedList;
}

/**
 * Refreshes the trusted lists: first the list of lists, then the list of each country on it. What cannot be fetched, or is refused, leaves the last
 * good list of that country in force.
 */
export function createRefreshProcessor({ sources, trustedLists, clock, log }: RefreshDeps): () => Promise<void> {
  /** Gets the list of one territory and puts it in force if it is newer. */
  async function refresh(territory: string, get: () => Promise<FetchedList>): Promise<void> {
    try {
      const { document, list } = await get();
      if (list.territory !== territory) throw new ListRefusal('list_wrong_territory', `It is that of ${list.territory}.`);
      const before = await trustedLists.findInForce(territory);
      if (!isNewer(list, before ?? undefined)) return await trustedLists.noteAttempt(territory, new Date(clock()), null);
      await trustedLists.putInForce(list, document, new Date(clock()));
      log.info({ territory, number: list.sequenceNumber, sha256: list.sha256 }, 'a trusted list is in force');
    } catch (error) {
      if (!(error instanceof ListRefusal)) throw error;
      const { code, message } = error;
      await trustedLists.noteAttempt(territory, new Date(clock()), { code, message });
      log.error({ outcome: 'failed', code, territory }, message);
    }
  }

  return async () => {
    const reader = openListThread();
    try {
      const { listOfLists, lists } = sources;
      if (listOfLists) await refresh(european, () => getListOfLists(listOfLists, reader));
      const inForce = listOfLists && (await trustedLists.findInForce(european));
      const pointers = (inForce && (await trustedLists.findSaid(inForce.sha256))?.pointers) || [];
      const given = new Set(lists.map(({ territory }) => territory));
      const named = pointers.filter((pointer) => isListOfCountry(pointer) && !given.has(pointer.territory)).map(sourceOf);
      const all = [...lists, ...named];
      await Promise.all(
        all.map(({ territory, place, signers }) =>
          refresh(territory, async () => {
            const document = await fetchList(place);
            return { document, list: await reader.read(document, signers) };
          }),
        ),
      );
      await trustedLists.keepOnly([...(listOfLists ? [european] : []), ...all.map(({ territory }) => territory)]);
    } finally {
      await reader.close();
    }
  };
}

/** Takes the first address that answers. @throws ListRefusal of the last address */
async function getListOfLists({ addresses, signers }: NonNullable<ListSources['listOfLists']>, reader: ListReader): Promise<FetchedList> {
  let refusal: unknown;
  for (const address of addresses) {
    // Pivots come from the same server: their addresses are read from a list that is not yet trusted.
    const fetchPivot = async (pivot: string) => {
      if (URL.parse(pivot)?.origin !== new URL(address).origin) throw new ListRefusal('list_pivot_broken', 'It is on another server.');
      return fetchList({ address: pivot });
    };
    try {
      const document = await fetchList({ address });
      return { document, list: await readListOfLists(document, signers, { read: reader.read, fetchPivot }) };
    } catch (error) {
      if (!(error instanceof ListRefusal)) throw error;
      refusal = error;
    }
  }
  throw refusal;
}

/** Some countries publish their list as PDF too. */
const isListOfCountry = ({ kind, mimeType, territory }: ListPointer): boolean =>
  kind === 'country_list' && mimeType === listMimeType && territory !== european;

const sourceOf = ({ territory, location, signers }: ListPointer): ListSource => ({ territory, place: { address: location }, signers });
