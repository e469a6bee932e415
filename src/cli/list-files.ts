import { readFile } from 'node:fs/promises';
import {
  type ChosenLists,
  chooseLists,
  createListIndex,
  type ListIndex,
  ListRefusal,
  newestLists,
  openListThread,
  readSignersFile,
  type TrustedList,
} from '../shared/trust/lists/index.ts';
import { about, CommandFailure, exitCodes, misuse } from './failure.ts';
import { forEachFile, type Terminal } from './terminal.ts';

/** The options with trusted lists and the certificates that may sign them, each a list of files. */
export interface ListOptions {
  readonly trustedList?: readonly string[];
  readonly listSigners?: readonly string[];
}

/** The trusted lists of one command, and the means to verify more of them. */
export interface GivenLists {
  /** Undefined: no list was given, so nothing is said about qualified. */
  readonly lists: ListIndex | undefined;
  /** Adds the lists in a bundle, by the same signers and rules. Undefined: no signers were given. */
  readonly withBundle: ((documents: ReadonlyMap<string, Uint8Array>) => Promise<BundleLists>) | undefined;
}

interface BundleLists {
  /** The newest lists, and the older ones of the bundle: a service that was taken off its list later is still known by a list of that time. */
  readonly lists: ListIndex;
  /** The refusals of lists in the bundle, and of given lists that were not refused without the bundle. */
  readonly refusals: readonly string[];
}

/**
 * Reads and verifies the files of `--trusted-list`. A file that cannot be read or is refused is reported as a problem.
 *
 * @throws CommandFailure if `--list-signers` is missing or cannot be read
 */
export async function readGivenLists(
  { trustedList: files = [], listSigners: given }: ListOptions,
  terminal: Terminal,
): Promise<GivenLists> {
  if (given === undefined) {
    if (files.length > 0) throw misuse('--trusted-list needs --list-signers: the certificates that may sign it');
    return { lists: undefined, withBundle: undefined };
  }
  const signers = await readListSigners(given);
  const documents = await readDocuments(files, terminal);
  const own = await chooseFrom(documents, signers);
  for (const [file, list] of own.read)
    if (list instanceof ListRefusal)
      terminal.problem(file, new CommandFailure(exitCodes.notValid, list.message, { code: list.code }), 'list refused');
  return {
    lists: files.length === 0 ? undefined : createListIndex(own.newest),
    withBundle: async (brought) => {
      // A given file may have the name of a list in the bundle.
      const inBundle = new Map([...brought].map(([name, list]) => [`bundle:${name}`, list]));
      const { read, newest } = await chooseFrom(new Map([...documents, ...inBundle]), signers);
      const isRefused = (list: TrustedList | ListRefusal | undefined) => list instanceof ListRefusal;
      const refusals = [...read].flatMap(([file, list]) =>
        isRefused(list) && !isRefused(own.read.get(file)) ? [`${file.replace(/^bundle:/, '')}: ${(list as ListRefusal).message}`] : [],
      );
      const countries = [...read].flatMap(([file, list]) =>
        inBundle.has(file) && 'kind' in list && list.kind === 'country_list' ? [[file, list] as const] : [],
      );
      const older = newestLists(new Map(countries)).newest.filter((list) => !newest.some(({ sha256 }) => sha256 === list.sha256));
      return { lists: createListIndex(newest, older), refusals };
    },
  };
}

/** Reads files. One that cannot be read is reported as a problem. */
export async function readDocuments(files: readonly string[], terminal: Terminal): Promise<Map<string, Uint8Array>> {
  const documents = new Map<string, Uint8Array>();
  await forEachFile(files, terminal, async (file) => void documents.set(file, await readFile(file)));
  return documents;
}

/** Verifies lists in a thread of their own, and chooses the newest. `signers` undefined: any signer is taken. */
export async function chooseFrom(
  documents: ReadonlyMap<string, Uint8Array>,
  signers: readonly Uint8Array[] | undefined,
): Promise<ChosenLists> {
  const reader = openListThread();
  try {
    return await chooseLists(documents, signers, reader);
  } finally {
    await reader.close();
  }
}

/** Reads the certificates of `--list-signers`, DER. @throws CommandFailure */
export async function readListSigners(paths: readonly string[]): Promise<readonly Uint8Array[]> {
  const readOne = async (path: string) => {
    const file = await about(path, () => readFile(path));
    try {
      return readSignersFile(file);
    } catch (error) {
      throw new CommandFailure(exitCodes.file, `${path}: ${error instanceof Error ? error.message : error}`);
    }
  };
  return (await Promise.all(paths.map(readOne))).flat();
}
