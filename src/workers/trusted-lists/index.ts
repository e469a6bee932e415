import { readFile } from 'node:fs/promises';
import { EnvHttpProxyAgent, fetch } from 'undici';
import { trustedListType } from '../../shared/contract/verify.ts';
import { isOnThisMachine } from '../../shared/domain/addresses.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { ListSource, ListSources } from '../../shared/trust/list-sources.ts';
import {
  european,
  isNewer,
  isTerritory,
  type ListPointer,
  type ListReader,
  ListRefusal,
  mostListBytes,
  newestLists,
  openListThread,
  readListOfLists,
  stateOf,
  type TrustedList,
} from '../../shared/trust/lists/index.ts';
import type { SharedTools } from '../tools.ts';

interface FetchedList {
  readonly document: Uint8Array;
  readonly list: TrustedList;
}

/**
 * Refreshes the trusted lists: first the list of lists, then the list of each country on it. What cannot be fetched, or is refused, leaves the last
 * good list of that country in force.
 */
export async function refreshTrustedLists(listSources: ListSources, tools: SharedTools): Promise<void> {
  const { trustedLists } = tools.store;
  const reader = openListThread();
  try {
    const { listOfLists, lists } = listSources;
    if (listOfLists) await refresh(tools, european, () => getListOfLists(listOfLists, { reader, log: tools.log }));
    const inForce = listOfLists && (await trustedLists.findInForce(european));
    const pointers = (inForce && (await trustedLists.findSaid(inForce.sha256))?.pointers) || [];
    const given = new Set(lists.map(({ territory }) => territory));
    const named = pointers.filter((pointer) => isListOfCountry(pointer) && !given.has(pointer.territory)).map(sourceOf);
    const all = [...lists, ...named];
    const refreshed = await Promise.allSettled(
      all.map(({ territory, place, signers }) =>
        refresh(tools, territory, async () => {
          const document = await fetchList(place);
          return { document, list: await reader.read(document, signers) };
        }),
      ),
    );
    const failed = refreshed.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
    await trustedLists.keepOnly([...(listOfLists ? [european] : []), ...all.map(({ territory }) => territory)]);
  } finally {
    await reader.close();
  }
}

/** Gets the list of one territory and puts it in force if it is newer. */
async function refresh({ store, clock, log }: SharedTools, territory: string, get: () => Promise<FetchedList>): Promise<void> {
  const { trustedLists } = store;
  try {
    const { document, list } = await get();
    if (list.territory !== territory) throw new ListRefusal('list_wrong_territory', `It is that of ${list.territory}.`);
    const before = await trustedLists.findInForce(territory);
    if (!isNewer(list, before ?? undefined)) return await trustedLists.noteAttempt(territory, new Date(clock()), null);
    // Somebody may be withholding newer lists. The list in force may expire too; what it says of the time before stays true.
    if (stateOf(list.nextUpdate, clock()) === 'expired') throw new ListRefusal('list_expired', `It was due at ${list.nextUpdate}.`);
    await trustedLists.putInForce(list, document, new Date(clock()));
    log.info({ territory, number: list.sequenceNumber, sha256: list.sha256 }, 'a trusted list is in force');
  } catch (error) {
    if (!(error instanceof ListRefusal)) throw error;
    const { code, message } = error;
    await trustedLists.noteAttempt(territory, new Date(clock()), { code, message });
    log.error({ outcome: 'failed', code, territory }, message);
  }
}

/** Takes the newest list of all addresses: one of them may be behind. @throws ListRefusal if none is good, that of the last address */
async function getListOfLists(
  { addresses, signers }: NonNullable<ListSources['listOfLists']>,
  { reader, log }: { readonly reader: ListReader; readonly log: Logger },
): Promise<FetchedList> {
  const origins = addresses.map((address) => new URL(address).origin);
  // The addresses of pivots are read from a list that is not yet trusted, so they must be on a configured server.
  const fetchPivot = async (address: string) => {
    if (!origins.includes(URL.parse(address)?.origin ?? '')) throw new ListRefusal('list_pivot_broken', 'It is on another server.');
    return fetchList({ address }, 'error');
  };
  const fetched = new Map<string, FetchedList>();
  let refusal: ListRefusal | undefined;
  function refuse(address: string, why: ListRefusal): void {
    if (addresses.length > 1) log.warn({ outcome: 'failed', code: why.code, address }, why.message);
    refusal = why;
  }
  for (const address of addresses) {
    try {
      const document = await fetchList({ address });
      fetched.set(address, { document, list: await readListOfLists(document, signers, reader, fetchPivot) });
    } catch (error) {
      if (!(error instanceof ListRefusal)) throw error;
      refuse(address, error);
    }
  }
  const { newest, refused } = newestLists(new Map([...fetched].map(([address, { list }]) => [address, list])));
  for (const [address, why] of refused) refuse(address, why);
  const chosen = [...fetched.values()].find(({ list }) => newest.includes(list));
  if (!chosen) throw refusal ?? new ListRefusal('list_unreachable');
  return chosen;
}

const isListOfCountry = ({ kind, mimeType, territory }: ListPointer): boolean =>
  kind === 'country_list' && mimeType === trustedListType && isTerritory(territory);

const sourceOf = ({ territory, location, signers }: ListPointer): ListSource => ({ territory, place: { address: location }, signers });

/** The largest lists have some megabytes, and some countries have slow servers. */
const longestFetchMs = 60_000;

/**
 * Gets the file of a list.
 *
 * @param redirect `error`: only this server may have it
 * @throws ListRefusal `list_unreachable`, `list_too_large`
 */
async function fetchList(place: ListSource['place'], redirect: 'follow' | 'error' = 'follow'): Promise<Uint8Array> {
  try {
    return 'file' in place ? await readFile(place.file) : await download(place.address, redirect);
  } catch (error) {
    if (error instanceof ListRefusal) throw error;
    throw new ListRefusal('list_unreachable', reasonOf(error));
  }
}

async function download(address: string, redirect: 'follow' | 'error'): Promise<Uint8Array> {
  // undici reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
  const dispatcher = new EnvHttpProxyAgent(isOnThisMachine(new URL(address)) ? { noProxy: '*' } : {});
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(longestFetchMs), redirect, dispatcher });
    if (!answer.ok || !answer.body) throw new ListRefusal('list_unreachable', `The server answered with status ${answer.status}.`);
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of answer.body) {
      bytes += part.length;
      if (bytes > mostListBytes) throw new ListRefusal('list_too_large');
      parts.push(part);
    }
    return Buffer.concat(parts);
  } finally {
    void dispatcher.destroy();
  }
}

/** `fetch` says only that it failed; the cause says why. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `It did not come in ${longestFetchMs / 1000} s.`;
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
  return `${cause instanceof Error && cause.message ? cause.message : error.message}${code}.`;
}
