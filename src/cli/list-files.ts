import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import {
  createListIndex,
  type ListReader,
  ListRefusal,
  openListThread,
  readListOfLists,
  readSignersFile,
  type TrustedList,
} from '../shared/trust/lists/index.ts';
import { aboutFile } from './anchors.ts';
import { CommandFailure, exitCodes, misuse } from './failure.ts';
import { type ListTrust, listTrustOf } from './judge-token.ts';
import type { OptionValues } from './options.ts';

/** The trusted lists of one command, and the means to verify more of them. */
export interface GivenLists {
  /** Undefined: no list was given, so nothing is said about qualified. */
  readonly lists: readonly TrustedList[] | undefined;
  /** The files that cannot be read or are refused, each with its failure. */
  readonly failures: readonly (readonly [file: string, failure: CommandFailure])[];
  /** Verifies the lists in a bundle by the same signers. Undefined: no signers were given. */
  readonly verify: ((documents: ReadonlyMap<string, Uint8Array>) => Promise<ReadonlyMap<string, TrustedList | ListRefusal>>) | undefined;
}

/** Reads and verifies the files of `--trusted-list`. @throws CommandFailure if `--list-signers` is missing or cannot be read */
export async function readGivenLists({ 'trusted-list': files = [], 'list-signers': given }: OptionValues): Promise<GivenLists> {
  if (given === undefined) {
    if (files.length > 0) throw misuse('--trusted-list needs --list-signers: the certificates that may sign it');
    return { lists: undefined, failures: [], verify: undefined };
  }
  const signers = await readListSigners(given);
  const documents = new Map<string, Uint8Array>();
  const failures: [string, CommandFailure][] = [];
  for (const file of files) {
    try {
      documents.set(file, await aboutFile(file, () => readFile(file)));
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      failures.push([file, new CommandFailure(error.exitCode, error.message.replace(`${file}: `, ''))]);
    }
  }
  const read = async (these: ReadonlyMap<string, Uint8Array>) => {
    const reader = openListThread();
    try {
      return await readLists(these, signers, reader);
    } finally {
      await reader.close();
    }
  };
  /** The list of lists in a bundle names the signers of that time. A bundle has no pivots, so the given files help if it does not verify alone. */
  const verify = async (others: ReadonlyMap<string, Uint8Array>) => {
    const alone = await read(others);
    if (documents.size === 0 || ![...alone.values()].some((list) => list instanceof ListRefusal)) return alone;
    const together = await read(new Map([...documents, ...others]));
    return new Map([...alone].map(([name, list]) => [name, list instanceof ListRefusal ? together.get(name)! : list]));
  };
  if (files.length === 0) return { lists: undefined, failures, verify };
  const lists: TrustedList[] = [];
  for (const [file, list] of await read(documents)) {
    if (list instanceof ListRefusal) failures.push([file, new CommandFailure(exitCodes.notValid, list.message, { code: list.code })]);
    else lists.push(list);
  }
  return { lists: newestOf(lists), failures, verify };
}

/** An older list would grant a service again that a newer one of the same country withdrew. */
function newestOf(lists: readonly TrustedList[]): readonly TrustedList[] {
  const newestFirst = lists.toSorted((a, b) => b.sequenceNumber - a.sequenceNumber);
  return [...Map.groupBy(newestFirst, ({ territory }) => territory).values()].map(([newest]) => newest!);
}

/** Prepares lists for judging tokens. Lists of lists alone say nothing about services. */
export function listTrustsOf(lists: readonly TrustedList[] | undefined): readonly ListTrust[] | undefined {
  if (lists === undefined) return undefined;
  const index = createListIndex(lists);
  return index.isEmpty ? [] : [listTrustOf(index)];
}

/** Reads the certificates of `--list-signers`, DER. @throws CommandFailure */
export async function readListSigners(paths: readonly string[]): Promise<readonly Uint8Array[]> {
  const readOne = async (path: string) => {
    const file = await aboutFile(path, () => readFile(path));
    try {
      return readSignersFile(file);
    } catch (error) {
      throw new CommandFailure(exitCodes.file, `${path}: ${error instanceof Error ? error.message : error}`);
    }
  };
  return (await Promise.all(paths.map(readOne))).flat();
}

/** Reads the lists of lists first, because they name the signers of the others. Without signers, any signer is taken. */
export async function readLists(
  documents: ReadonlyMap<string, Uint8Array>,
  signers: readonly Uint8Array[] | undefined,
  { read }: ListReader,
): Promise<Map<string, TrustedList | ListRefusal>> {
  const fetchPivot = async (address: string): Promise<Uint8Array> => {
    const name = basename(address);
    const [, pivot] = [...documents].find(([file]) => basename(file) === name) ?? [];
    if (!pivot) throw new ListRefusal('list_pivot_broken', `${name} is not among the files.`);
    return pivot;
  };
  const lists = new Map<string, TrustedList | ListRefusal>();
  for (const [file, document] of documents) lists.set(file, await orRefusal(read(document, 'embedded')));
  if (signers === undefined) return lists;

  for (const [file, list] of lists) {
    if (list instanceof ListRefusal || list.kind !== 'list_of_lists') continue;
    lists.set(file, await orRefusal(readListOfLists(documents.get(file)!, signers, { read, fetchPivot })));
  }
  for (const [file, list] of lists) {
    if (list instanceof ListRefusal || list.kind === 'list_of_lists') continue;
    const named = [...signers, ...signersOf(lists, list.territory)];
    lists.set(file, await orRefusal(read(documents.get(file)!, named)));
  }
  return lists;
}

const orRefusal = (list: Promise<TrustedList>): Promise<TrustedList | ListRefusal> =>
  list.catch((error) => {
    if (error instanceof ListRefusal) return error;
    throw error;
  });

/** The signers that the newest list of lists names for a country. Pivots are older ones. */
export function signersOf(lists: ReadonlyMap<string, TrustedList | ListRefusal>, country: string): readonly Uint8Array[] {
  const read = [...lists.values()].flatMap((list) => (list instanceof ListRefusal ? [] : [list]));
  const [newest] = read.filter(({ kind }) => kind === 'list_of_lists').sort((a, b) => b.sequenceNumber - a.sequenceNumber);
  return newest?.pointers.filter(({ territory }) => territory === country).flatMap(({ signers }) => signers) ?? [];
}
