import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cached, recipeKey } from '../../scripts/stack/cache.ts';
import type { StackContext } from '../../scripts/stack/context.ts';
import { StepError } from '../../scripts/stack/progress.ts';
import { runCommand } from '../../scripts/stack/run.ts';

// The signed lists that strangers publish with their own tests: those of countries, lists of lists, and spoiled copies of both. They are not committed
// here. They come from the repositories of DSS and pyHanko, at a commit that is named below, so that the explained differences stay true.

/** A list, and the certificates that may sign it. */
export interface ListFile {
  /** Set and file, such as `2019/CZ_no-sig.xml`. */
  readonly name: string;
  readonly document: Buffer;
  /** DER. */
  readonly signers: readonly Buffer[];
}

const repositories = {
  dss: { variable: 'DSS_REPOSITORY', address: 'https://github.com/esig/dss', commit: 'd9473b8efea72fd5754623fa92bb9311f2b005c5' },
  pyhanko: {
    variable: 'PYHANKO_REPOSITORY',
    address: 'https://github.com/MatthiasValvekens/pyHanko',
    commit: '7db4e6fe97552416944c2be98cdeb918c98d4891',
  },
} as const;
type RepositoryName = keyof typeof repositories;

const dssTests = 'dss-tsl-validation/src/test/resources';
/** Each set with its folder, and the files whose pointers say who signs the lists of countries. */
const sets: readonly (readonly [name: string, repository: RepositoryName, folder: string, ...listsOfLists: readonly string[]])[] = [
  ['2023', 'dss', 'dss-cookbook/src/test/resources/signature-pool/cache', 'https___ec_europa_eu_tools_lotl_eu_lotl_xml'],
  ['2019', 'dss', `${dssTests}/lotlCache`, 'EU.xml'],
  ['assorted', 'dss', dssTests, 'eu-lotl.xml', 'mra-lotl.xml', 'peru-lotl.xml'],
  ['pyhanko', 'pyhanko', 'internal/common-test-utils/src/pyhanko_testing_commons/test_data/data/tl', 'eu-lotl-old.xml', 'eu-lotl.xml'],
];

/** The certificates of the Official Journal of 2019 (C 276) and of its successor, as pyHanko ships them. */
const journal = ['bootstrap-0.cert.pem', 'bootstrap-1.cert.pem'].map(
  (file) => `pkgs/pyhanko/src/pyhanko/sign/validation/qualified/lotl-certs/${file}`,
);

/**
 * @returns all lists, and the names of the files that the local copy of a repository lacks
 * @throws StepError if a repository can neither be read nor cloned
 */
export async function readListFiles(
  context: StackContext,
): Promise<{ readonly files: readonly ListFile[]; readonly absent: readonly string[] }> {
  const opened = { dss: await openRepository(context, 'dss'), pyhanko: await openRepository(context, 'pyhanko') };
  const pinned = (await Promise.all(journal.map(opened.pyhanko.read))).map((pem) => new X509Certificate(pem!).raw);
  const files: ListFile[] = [];
  const absent: string[] = [];
  for (const [set, repository, folder, ...listsOfLists] of sets) {
    const documents = new Map<string, Buffer>();
    for (const path of await opened[repository].list(folder)) {
      const file = path.slice(folder.length + 1);
      if (file.includes('/') || !/xml$|xtsl$/i.test(file)) continue;
      const document = await opened[repository].read(path);
      if (document === undefined) absent.push(`${set}/${file}`);
      else if (document.length === 0 || document.includes('TrustServiceStatusList')) documents.set(file, document);
    }
    const pointers = listsOfLists.map((file) => documents.get(file)?.toString('utf8') ?? '').join();
    for (const [file, document] of documents)
      files.push({ name: `${set}/${file}`, document, signers: signersOf(document, pointers, pinned) });
  }
  return { files, absent };
}

/**
 * The Official Journal names those of a list of lists, and a list of lists those of a country. For a list that none of these has signed, the certificates
 * in its signature are taken. The patterns read what the files say without a parser, because half of the files are broken on purpose.
 */
function signersOf(document: Buffer, listsOfLists: string, pinned: readonly Buffer[]): readonly Buffer[] {
  const text = document.toString('utf8');
  const embedded = certificatesIn(/<(\w+:)?KeyInfo\b.*?<\/\1KeyInfo>/s.exec(text)?.[0] ?? '');
  const territoryOf = (xml: string) => /SchemeTerritory>\s*([^<\s]+)/.exec(xml)?.[1];
  const pointers = listsOfLists.match(/<(\w+:)?OtherTSLPointer>.*?<\/(\w+:)?OtherTSLPointer>/gs) ?? [];
  const isListOfLists = /TSLType>[^<]*/.exec(text)?.[0].endsWith('listofthelists');
  const named = isListOfLists ? pinned : pointers.filter((one) => territoryOf(one) === territoryOf(text)).flatMap(certificatesIn);
  return embedded.length === 0 || named.some((one) => embedded.some((other) => other.equals(one))) ? named : embedded;
}

const certificatesIn = (text: string): Buffer[] =>
  [...text.matchAll(/<(?:\w+:)?X509Certificate>([^<]+)</g)].map(([, content = '']) =>
    Buffer.from(content.replace(/&#\w+;/g, ''), 'base64'),
  );

/** A folder is read as it is. An address is fetched into the cache first. */
async function openRepository(context: StackContext, name: RepositoryName) {
  const { variable, address, commit } = repositories[name];
  const given = process.env[variable] || address;
  const git = async (...args: readonly string[]): Promise<Buffer> => {
    const options = { encoding: 'buffer', maxBuffer: 64 * 1024 * 1024, signal: context.signal } as const;
    return (await promisify(execFile)('git', ['--git-dir', folder, ...args], options)).stdout;
  };
  let folder = existsSync(join(given, '.git')) ? join(given, '.git') : given;
  try {
    if (!existsSync(given))
      folder = await cached(context, `repository-${name}`, recipeKey(given, commit), async (into) => {
        await runCommand('git', ['init', '--quiet', '--bare', into], context);
        await runCommand('git', ['--git-dir', into, 'fetch', '--quiet', '--depth', '1', given, commit], context);
      });
    await git('cat-file', '-e', `${commit}^{commit}`);
  } catch (cause) {
    const remedy = `set ${variable} to a git folder or an address with that commit of ${address}`;
    throw new StepError('trusted-lists', `${given} is no repository with the commit ${commit}`, remedy, cause);
  }
  return {
    list: async (below: string) => {
      const listed = await git('ls-tree', '-r', '-z', '--name-only', commit, `${below}/`);
      return listed.toString('utf8').split('\0').filter(Boolean);
    },
    /** Undefined if the local copy does not have the file's content. */
    read: (path: string) => git('cat-file', 'blob', `${commit}:${path}`).catch(() => undefined),
  };
}
