import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cached, recipeKey } from '../../scripts/stack/cache.ts';
import type { StackContext } from '../../scripts/stack/context.ts';
import { StepError } from '../../scripts/stack/progress.ts';
import { runCommand } from '../../scripts/stack/run.ts';
import type { ListFault } from '../../src/shared/trust/lists/trusted-list.ts';
import { hostileLists } from '../support/hostile-lists.ts';

// The signed lists that strangers publish with their own tests: those of countries, lists of lists, and spoiled copies of both. They are not committed
// here. They come from the repositories of DSS and pyHanko, at a commit that is named below, so that the explained differences stay true.

/** A list, and the certificates that may sign it. */
export interface ListFile {
  /** Set and file, such as `2019/CZ_no-sig.xml`. */
  readonly name: string;
  readonly document: Buffer;
  /** DER. */
  readonly signers: readonly Buffer[];
  /**
   * Where the signers are from. `pointer`: the list of lists of the same set names them for the country. `pivot`: the newest older list of lists that
   * this one mentions names them. `pinned`: they were published outside all lists. `embedded`: no such source is in the repository, so the
   * certificates in the signature itself are taken. `made`: the list was made here.
   */
  readonly signersFrom: 'pointer' | 'pivot' | 'pinned' | 'embedded' | 'made';
  /** What our reader must say, for a list that was made here. */
  readonly code?: ListFault | 'taken';
}

/** The lists that our own tests make: most of them hostile, and all different in one thing. */
export const madeLists = (): ListFile[] =>
  hostileLists().map(({ name, ...made }) => ({ name: `made/${name}`, signersFrom: 'made', ...made }));

interface ListSet {
  readonly name: string;
  readonly repository: keyof typeof repositories;
  readonly folder: string;
  /** The files whose pointers say who signs the lists of countries. */
  readonly listsOfLists: readonly string[];
  /** The set holds lists of many years. If no list of lists names the signer of such a list, the embedded certificates are taken. */
  readonly isAssorted?: true;
}

const repositories = {
  dss: { variable: 'DSS_REPOSITORY', address: 'https://github.com/esig/dss', commit: 'd9473b8efea72fd5754623fa92bb9311f2b005c5' },
  pyhanko: {
    variable: 'PYHANKO_REPOSITORY',
    address: 'https://github.com/MatthiasValvekens/pyHanko',
    commit: '7db4e6fe97552416944c2be98cdeb918c98d4891',
  },
} as const;

const dssTests = 'dss-tsl-validation/src/test/resources';
const sets: readonly ListSet[] = [
  {
    name: '2023',
    repository: 'dss',
    folder: 'dss-cookbook/src/test/resources/signature-pool/cache',
    listsOfLists: ['https___ec_europa_eu_tools_lotl_eu_lotl_xml'],
  },
  { name: '2019', repository: 'dss', folder: `${dssTests}/lotlCache`, listsOfLists: ['EU.xml'] },
  { name: 'pivots', repository: 'dss', folder: `${dssTests}/pivots`, listsOfLists: [] },
  {
    name: 'assorted',
    repository: 'dss',
    folder: dssTests,
    listsOfLists: ['eu-lotl.xml', 'mra-lotl.xml', 'peru-lotl.xml'],
    isAssorted: true,
  },
  {
    name: 'pyhanko',
    repository: 'pyhanko',
    folder: 'internal/common-test-utils/src/pyhanko_testing_commons/test_data/data/tl',
    listsOfLists: ['eu-lotl-old.xml', 'eu-lotl.xml'],
  },
];

/** The certificates of the Official Journal of 2019 (C 276) and of its successor, as pyHanko ships them. */
const journal = ['bootstrap-0.cert.pem', 'bootstrap-1.cert.pem'].map(
  (file) => `pkgs/pyhanko/src/pyhanko/sign/validation/qualified/lotl-certs/${file}`,
);
/** The stand-in for the Official Journal in DSS's own test of pivots (LOTLLocationRenewalTest). */
const pivotsKeystore = { file: `${dssTests}/pivots/keystore_OJ1.p12`, password: 'password' };
/** Signed in 2017, with a certificate older than the Official Journal above. */
const olderThanPinned = ['2019/tl_pivot_172_mp.xml'];

/**
 * @param openKeystore reads the certificates of a PKCS #12 file, which Node does not read
 * @returns all lists, and the names of the files that the local copy of a repository lacks
 * @throws StepError if a repository can neither be read nor cloned
 */
export async function readListFiles(
  context: StackContext,
  openKeystore: (file: Buffer, password: string) => Promise<readonly Buffer[]>,
): Promise<{ readonly files: readonly ListFile[]; readonly absent: readonly string[] }> {
  const opened = { dss: await openRepository(context, 'dss'), pyhanko: await openRepository(context, 'pyhanko') };
  const pem = (await Promise.all(journal.map((path) => opened.pyhanko.read(path)))).join('\n');
  const ofJournal = (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (one) => new X509Certificate(one).raw,
  );
  const keystore = await opened.dss.read(pivotsKeystore.file);
  const ofKeystore = keystore === undefined ? [] : await openKeystore(keystore, pivotsKeystore.password);

  const files: ListFile[] = [];
  const absent: string[] = [];
  for (const set of sets) {
    const repository = opened[set.repository];
    const documents = new Map<string, Buffer>();
    for (const path of await repository.list(set.folder)) {
      const file = path.slice(set.folder.length + 1);
      if (file.includes('/') || !/xml$|xtsl$/i.test(file)) continue;
      const document = await repository.read(path);
      if (document === undefined) absent.push(`${set.name}/${file}`);
      else if (document.length === 0 || document.includes('TrustServiceStatusList')) documents.set(file, document);
    }
    const pinned = set.name === 'pivots' ? ofKeystore : ofJournal;
    for (const [file, document] of documents) {
      const name = `${set.name}/${file}`;
      files.push({ name, document, ...findSigners(set, documents, pinned, name, document) });
    }
  }
  return { files, absent };
}

// The patterns below read what the files say without a parser, because half of the files are broken on purpose. This is no way to read lists that are
// not known beforehand.

function findSigners(
  set: ListSet,
  documents: ReadonlyMap<string, Buffer>,
  pinned: readonly Buffer[],
  name: string,
  document: Buffer,
): Pick<ListFile, 'signers' | 'signersFrom'> {
  const text = document.toString('utf8');
  const embedded = certificatesIn(/<(\w+:)?KeyInfo\b.*?<\/\1KeyInfo>/s.exec(text)?.[0] ?? '');
  const territory = /SchemeTerritory>\s*([^<\s]+)/.exec(text)?.[1] ?? '';
  if (/TSLType>[^<]*/.exec(text)?.[0].endsWith('listofthelists')) {
    const pivot = newestPivot(documents, document);
    if (pivot !== undefined) return { signers: signersNamed(pivot, territory), signersFrom: 'pivot' };
    const isPinned = set.isAssorted
      ? embedded.length === 0 || embedded.some((one) => isAmong(one, pinned))
      : !olderThanPinned.includes(name);
    return isPinned ? { signers: pinned, signersFrom: 'pinned' } : { signers: embedded, signersFrom: 'embedded' };
  }
  const named = set.listsOfLists.flatMap((file) => signersNamed(documents.get(file) ?? Buffer.alloc(0), territory));
  const isNamed = set.isAssorted ? embedded.some((one) => isAmong(one, named)) : named.length > 0;
  return isNamed ? { signers: named, signersFrom: 'pointer' } : { signers: embedded, signersFrom: 'embedded' };
}

/** The newest other list of lists that a list of lists mentions as a pivot, if it is in the same set. */
function newestPivot(documents: ReadonlyMap<string, Buffer>, document: Buffer): Buffer | undefined {
  const [addresses = ''] = /<(\w+:)?SchemeInformationURI>.*?<\/\1SchemeInformationURI>/s.exec(document.toString('utf8')) ?? [];
  for (const [, address = ''] of addresses.matchAll(/>\s*(http[^<\s]*pivot[^<\s]*)\s*</g)) {
    const [, pivot] = [...documents].find(([file]) => plain(address).endsWith(plain(file))) ?? [];
    if (pivot === undefined) return undefined;
    if (numberOf(pivot) !== numberOf(document)) return pivot;
  }
  return undefined;
}

const plain = (text: string): string => text.replace(/[^A-Za-z0-9]/g, '_');
const numberOf = (document: Buffer): string => /TSLSequenceNumber>\s*(\d+)/.exec(document.toString('utf8'))?.[1] ?? '';

function signersNamed(listOfLists: Buffer, territory: string): Buffer[] {
  const pointers = listOfLists.toString('utf8').match(/<(\w+:)?OtherTSLPointer>.*?<\/(\w+:)?OtherTSLPointer>/gs) ?? [];
  const ofTerritory = pointers.filter((pointer) => /SchemeTerritory>\s*([^<\s]+)/.exec(pointer)?.[1] === territory);
  return ofTerritory.flatMap(certificatesIn).filter((one, index, all) => !isAmong(one, all.slice(0, index)));
}

const certificatesIn = (text: string): Buffer[] =>
  [...text.matchAll(/<(?:\w+:)?X509Certificate>([^<]+)</g)].map(([, content = '']) =>
    Buffer.from(content.replace(/&#\w+;/g, ''), 'base64'),
  );

const isAmong = (certificate: Buffer, others: readonly Buffer[]): boolean => others.some((other) => other.equals(certificate));

interface Repository {
  /** The paths of all files below a folder. */
  list(folder: string): Promise<readonly string[]>;
  /** Undefined if the local copy does not have the file's content. */
  read(path: string): Promise<Buffer | undefined>;
}

/** A folder is read as it is. An address is fetched into the cache first. */
async function openRepository(context: StackContext, name: keyof typeof repositories): Promise<Repository> {
  const { variable, address, commit } = repositories[name];
  const given = process.env[variable] || address;
  const git = async (...args: readonly string[]): Promise<Buffer> => {
    const options = { encoding: 'buffer', maxBuffer: 64 * 1024 * 1024, signal: context.signal } as const;
    return (await promisify(execFile)('git', ['--git-dir', folder, ...args], options)).stdout;
  };
  let folder = existsSync(join(given, '.git')) ? join(given, '.git') : given;
  try {
    if (!existsSync(given)) folder = await fetchRepository(context, name, given, commit);
    await git('cat-file', '-e', `${commit}^{commit}`);
  } catch (cause) {
    const remedy = `set ${variable} to a git folder or an address with that commit of ${address}`;
    throw new StepError('trusted-lists', `${given} is no repository with the commit ${commit}`, remedy, cause);
  }
  return {
    list: async (below) => {
      const listed = await git('ls-tree', '-r', '-z', '--name-only', commit, `${below}/`);
      return listed.toString('utf8').split('\0').filter(Boolean);
    },
    read: (path) => git('cat-file', 'blob', `${commit}:${path}`).catch(() => undefined),
  };
}

const fetchRepository = (context: StackContext, name: string, address: string, commit: string): Promise<string> =>
  cached(context, `repository-${name}`, recipeKey(address, commit), async (folder) => {
    await runCommand('git', ['init', '--quiet', '--bare', folder], context);
    await runCommand('git', ['--git-dir', folder, 'fetch', '--quiet', '--depth', '1', address, commit], context);
  });
