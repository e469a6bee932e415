import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { Binary, type Collection, type Db } from 'mongodb';
import type { Logger } from '../runtime/log.ts';
import { answerWithin, every } from '../runtime/timers.ts';
import { createListIndex, type ListFault, type ListIndex, type TrustedList } from '../trust/lists/index.ts';
import { bytesOf, inStore, insertIfAbsent, maxTimeMS } from './connection.ts';

/** The list of a country that is in force here, and how the last attempt to refresh it ended. */
export interface ListInForce {
  /** The country, or `EU` for the list of lists. */
  readonly territory: string;
  /** Null if no list of this country was ever accepted. */
  readonly list: Pick<TrustedList, 'sha256' | 'sequenceNumber' | 'issuedAt' | 'nextUpdate'> | null;
  /** The last attempt. */
  readonly checkedAt: Date;
  /** Why the last attempt brought no list. The list in force stays. */
  readonly refusal: { readonly code: ListFault; readonly message: string } | null;
}

/** A country that is no longer configured, or no longer on the list of lists, is not used. Its number is kept, so that no older list can come after it. */
type InForceDocument = Omit<ListInForce, 'territory'> & { readonly _id: string; readonly isUsed: boolean };

/** A verified list: the file as it was signed, and what it says. The file is compressed, since a document of MongoDB holds 16 MiB. */
interface ListDocument {
  readonly _id: string;
  readonly xml: Binary;
  readonly said: TrustedList;
}

type TrustedListStore = ReturnType<typeof createTrustedListStore>;

/** Stores trusted lists by their SHA-256, and which list of each country is in force. Lists are kept, because old stamps may rest on them. */
export function createTrustedListStore(db: Db) {
  const lists: Collection<ListDocument> = db.collection('trusted_lists');
  const inForce: Collection<InForceDocument> = db.collection('trusted_lists_in_force');

  return {
    readInForce: async (): Promise<ListInForce[]> => {
      const found = await inStore(() => inForce.find({ isUsed: true }, { maxTimeMS }).sort({ _id: 1 }).toArray());
      return found.map(({ _id: territory, list, checkedAt, refusal }) => ({ territory, list, checkedAt, refusal }));
    },
    /** The last list that was in force, even if the country is not used now. */
    findInForce: async (territory: string): Promise<ListInForce['list']> =>
      (await inStore(() => inForce.findOne({ _id: territory }, { maxTimeMS })))?.list ?? null,
    /** Puts a verified list in force. A process that is killed in between leaves a list that is not in force. */
    putInForce: async (said: TrustedList, document: Uint8Array, checkedAt: Date): Promise<void> => {
      const { sha256, sequenceNumber, issuedAt, nextUpdate } = said;
      const xml = new Binary(await promisify(gzip)(document));
      await inStore(() => insertIfAbsent(lists, { _id: sha256, xml, said }));
      const state = { list: { sha256, sequenceNumber, issuedAt, nextUpdate }, checkedAt, refusal: null, isUsed: true };
      await inStore(() => insertIfAbsent(inForce, { _id: said.territory, ...state }));
      // Another refresh may have put a newer list in force meanwhile.
      const older = { $or: [{ list: null }, { 'list.sequenceNumber': { $lt: sequenceNumber } }] };
      await inStore(() => inForce.updateOne({ _id: said.territory, ...older }, { $set: state }));
    },
    /** Records an attempt that brought no newer list: the one in force was found again, or `refusal` says what was wrong. */
    noteAttempt: async (territory: string, checkedAt: Date, refusal: ListInForce['refusal']): Promise<void> => {
      const update = { $set: { checkedAt, refusal, isUsed: true }, $setOnInsert: { list: null } };
      await inStore(() => inForce.updateOne({ _id: territory }, update, { upsert: true }));
    },
    /** Takes all other countries out of use. */
    keepOnly: async (territories: readonly string[]): Promise<void> => {
      await inStore(() => inForce.updateMany({ _id: { $nin: [...territories] } }, { $set: { isUsed: false } }));
    },
    /** The file of a list, as it was signed. */
    findXml: async (sha256: string): Promise<{ readonly xml: Buffer; readonly said: TrustedList } | undefined> => {
      const found = await inStore(() => lists.findOne({ _id: sha256 }, { maxTimeMS, promoteBuffers: true }));
      return found ? { xml: await promisify(gunzip)(bufferOf(found.xml)), said: found.said } : undefined;
    },
    /** What a list says. */
    findSaid: async (sha256: string): Promise<TrustedList | undefined> =>
      (await inStore(() => lists.findOne({ _id: sha256 }, { maxTimeMS, promoteBuffers: true, projection: { said: 1 } })))?.said,
  };
}

const bufferOf = (stored: Binary | Buffer): Buffer => (stored instanceof Binary ? bytesOf(stored) : stored);

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
