import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { Readable } from 'node:stream';
import { sha256 } from '../shared/domain/proofs.ts';
import { imprintAlgorithms, sha256Imprint } from '../shared/domain/stamp.ts';
import {
  BundleFault,
  type BundleFile,
  type BundleTools,
  hasClosingRecord,
  mostEntries,
  mostSmallBytes,
  type OpenedBundle,
  openBundle,
  openUnpacked,
} from '../shared/proof/bundle.js';
import { bundleFiles, ignoredText } from '../shared/proof/bundle-files.js';
import type * as proof from '../shared/proof/judge-bundle.js';
import { judgeBundle, StampRefused } from '../shared/proof/judge-bundle.js';
import { isSame } from '../shared/proof/octets.js';
import { ZipFault } from '../shared/proof/zip-source.js';
import { firstTokenOf, type TrustStore } from '../shared/rfc3161/index.ts';
import { openTrust, type TrustOptions } from './anchors.ts';
import {
  type BundleJudgement,
  brokenBundleResult,
  bundleResult,
  foundResults,
  notFoundResult,
  type SearchedBundle,
} from './bundle-text.ts';
import type { Context } from './command.ts';
import { asZipFailure, inflate, withZip } from './container.ts';
import { asFailure, CommandFailure, exitCodes, misuse } from './failure.ts';
import { judgeStamp, type TokenVerdict, type Trusted } from './judge.ts';
import type { GivenLists } from './list-files.ts';
import { digestInput } from './local-files.ts';
import { bundleName, stampBeside } from './operands.ts';
import { countOf, forEachFile } from './terminal.ts';
import type { Result } from './verdict-text.ts';

const tools: BundleTools = { inflate, sha256, createSha256: () => createHash('sha256') };

/**
 * Finds the evidence bundles among the names: unpacked bundles, and zip files. If there are several, a zip file without a closing record counts as an
 * ordinary file, unless all have none. A zip file in a folder, or with a stamp beside it, counts only if it has a closing record or the name of a bundle.
 */
export async function bundlesAmong(names: readonly string[], inFolders: ReadonlySet<string>): Promise<readonly string[]> {
  const zips: string[] = [];
  for (const name of names) {
    if (!isBundlePath(name)) continue;
    const mayBeOther = !bundleName.test(basename(name)) && (inFolders.has(name) || (await stampBeside(name)) !== undefined);
    if (!mayBeOther || (await isBundle(name, false))) zips.push(name);
  }
  if (zips.length < 2) return zips;
  const bundles: string[] = [];
  // A file that cannot be read is reported when it is opened.
  for (const zip of zips) if (bundleName.test(basename(zip)) || (await isBundle(zip, true))) bundles.push(zip);
  return bundles.length > 0 ? bundles : zips;
}

/**
 * Judges each evidence bundle on its own, and searches all of them for each file. It works offline. It returns what is
 * not judged here: the stamps beside bundles, and the files that are in none of the bundles but have a stamp beside them.
 *
 * @param options its trust anchors were read before, so that only the certificates of a bundle can be wrong here
 * @throws CommandFailure with `--online`
 */
export async function verifyBundles(
  bundles: readonly string[],
  files: readonly string[],
  options: TrustOptions & { readonly online?: true },
  { terminal, stdin, anchorsFolder }: Context,
  given: GivenLists,
): Promise<readonly string[]> {
  if (options.online) throw misuse('--online works for stamps, not for bundles');
  const print = ({ json, line, details, sign }: Result) => terminal.result(json, line, details, sign);
  const count = ({ word, code }: Result) => terminal.count(word, code);
  const digests = new Map<string, string>();
  await forEachFile(files, terminal, async (file) => {
    digests.set(file, (await digestInput(file, stdin, { onBytes: terminal.track(file) })).imprint.digest);
  });

  const searched: SearchedBundle[] = [];
  const show = (name: string, result: Result, judgement?: BundleJudgement) => {
    print(result);
    count(result);
    searched.push({ name, judgement });
  };
  for (const path of bundles) {
    try {
      await withBundle(path, async (bundle) => {
        const { trust, notes } = await trustFor(bundle, options, anchorsFolder);
        const { lists, notes: listNotes } = await listsFor(bundle, given);
        const advance = terminal.track(path, (amount) => countOf(amount, 'output'));
        const judgement = await judgeBundle(bundle, {
          ...judgeStampsBy({ trust, lists, nowMs: Date.now() }),
          wanted: new Set(digests.values()),
          onOutput: () => advance(1, bundle.record.output_count),
        });
        const allNotes = [...notes, ...listNotes, ...(await scriptNotes(bundle)), ...ignoredText(bundle.ignored)];
        show(path, bundleResult(path, judgement, trust, allNotes), judgement);
      });
    } catch (error) {
      const fault = await asBundleFault(path, error);
      if (fault instanceof BundleFault || fault instanceof StampRefused) show(path, brokenBundleResult(path, fault));
      else terminal.problem(path, fault);
    }
  }
  const stamped: string[] = [];
  for (const bundle of bundles) {
    const stamp = isBundleFolder(bundle) ? undefined : await stampBeside(bundle);
    if (stamp !== undefined) stamped.push(stamp);
  }
  const unread = bundles.find((path) => !searched.some(({ name }) => name === path));
  for (const [file, sha256] of digests) {
    const found = foundResults(file, sha256, searched);
    if (found.length === 0 && (await stampBeside(file)) !== undefined) {
      stamped.push(file);
      continue;
    }
    if (found.length === 0 && unread !== undefined) {
      const why = `it is in none of the readable bundles, and ${unread} could not be read`;
      terminal.problem(file, new CommandFailure(exitCodes.file, why));
      continue;
    }
    const [first = notFoundResult(file, sha256, searched), ...others] = found;
    for (const result of [first, ...others]) print(result);
    count(first);
  }
  return stamped;
}

const knownScript = new URL('../../views/bundle/verify.py', import.meta.url);

/** Warns if `verify.py` in the bundle is not our script: then the author of the bundle wrote it, and it may print anything. */
async function scriptNotes(bundle: OpenedBundle): Promise<readonly string[]> {
  const isKnown = isSame(await bundle.bytesOf(bundleFiles.script), await readFile(knownScript));
  return isKnown ? [] : ['verify.py: it is not the script that this command knows; read it before you run it'];
}

/** The user's trust anchors, with the certificates and revocation lists in a bundle. Those help to build chains but are not trusted. */
async function trustFor(
  bundle: OpenedBundle,
  options: TrustOptions,
  anchorsFolder: string,
): Promise<{ trust: TrustStore; notes: readonly string[] }> {
  const read = async (name: string): Promise<string[]> => {
    const text = Buffer.from(await bundle.bytesOf(name)).toString('latin1');
    return text.includes('-----BEGIN') ? [text] : [];
  };
  const isLarge = bundle.sizeOf(bundleFiles.revocationLists) > mostSmallBytes;
  const intermediates = [...(await read(bundleFiles.otherCertificates)), ...(await read(bundleFiles.trustAnchors))];
  const crls = isLarge ? [] : await read(bundleFiles.revocationLists);
  try {
    const trust = await openTrust(anchorsFolder, options, { intermediates, crls });
    return { trust, notes: isLarge ? ['the revocation lists of the bundle: they are too large; give them with --crl'] : [] };
  } catch (error) {
    const failure = asFailure(error);
    if (!(failure instanceof CommandFailure)) throw error;
    throw new BundleFault('bundle_malformed', `The certificates in the bundle cannot be used: ${failure.message.replace(/^: /, '')}`);
  }
}

/** The trusted lists for a bundle: the given ones, and those in it, by the same rules. */
async function listsFor(bundle: OpenedBundle, given: GivenLists): Promise<{ lists: GivenLists['lists']; notes: readonly string[] }> {
  if (bundle.lists.length === 0) return { lists: given.lists, notes: [] };
  if (!given.withBundle)
    return {
      lists: given.lists,
      notes: ['the trusted lists in this bundle: give --list-signers with the certificates that may sign them'],
    };
  const documents = new Map<string, Uint8Array>();
  for (const name of bundle.lists) documents.set(name, await bundle.bytesOfList(name));
  const { lists, refusals } = await given.withBundle(documents);
  return { lists, notes: refusals };
}

/** Whether a path may be that of a bundle: a zip file, or an unpacked bundle. */
const isBundlePath = (path: string): boolean => /\.zip$/i.test(path) || isBundleFolder(path);

export const isBundleFolder = (path: string): boolean =>
  [bundleFiles.closingRecord, bundleFiles.sums].every((name) => existsSync(join(path, name)));

/** The files in a folder, as entries of a zip file. Its subfolders are no entries: every program that unpacks a zip file makes them. */
async function filesInFolder(folder: string): Promise<Map<string, BundleFile>> {
  const files = new Map<string, BundleFile>();
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(folder, path).replaceAll(sep, '/');
    if (entry.isDirectory()) continue;
    if (files.size === mostEntries) throw new ZipFault(`it has more than ${mostEntries} files`);
    if (entry.isFile()) {
      const { size } = await stat(path);
      files.set(name, { size, read: () => (size === 0 ? Readable.from([]) : createReadStream(path, { end: size - 1 })) });
    } else throw new ZipFault(`${name} is neither a file nor a folder`);
  }
  return files;
}

/** Turns an error while reading a bundle into a CommandFailure with one sentence. Faults in its contents are returned unchanged. */
async function asBundleFault(path: string, error: unknown): Promise<unknown> {
  if (!(error instanceof ZipFault) || !(await isBundle(path, false)))
    return asZipFailure(`an evidence bundle${bundleName.test(basename(path)) ? '' : ', and no stamp is beside it'}`, error);
  const advice = 'get it again with "qstamp workflow bundle ID"';
  return new CommandFailure(exitCodes.notValid, `this evidence bundle cannot be used: ${error.message}; ${advice}`);
}

/** Opens an evidence bundle (W22), packed or unpacked, calls `use` with it, and closes it. */
async function withBundle<Result>(path: string, use: (bundle: OpenedBundle) => Promise<Result>): Promise<Result> {
  if (isBundleFolder(path)) return use(await openUnpacked(await filesInFolder(path), tools));
  return withZip(path, async (source) => use(await openBundle(source, tools)));
}

/** Whether there is an unpacked bundle, or a zip file with a closing record. `otherwise` is the answer for a file that cannot be read. */
async function isBundle(path: string, otherwise: boolean): Promise<boolean> {
  return isBundleFolder(path) || (await withZip(path, (source) => hasClosingRecord(source, inflate)).catch(() => otherwise));
}

/** The functions that verify the time-stamps of a bundle. */
const judgeStampsBy = (trusted: Trusted): Pick<proof.BundleJudge<TokenVerdict>, 'judgeStamp' | 'firstTokenOf'> => ({
  firstTokenOf: (record) => firstTokenOf(Buffer.from(record)),
  judgeStamp: (bytes, { sha256, content }) => {
    // An evidence record that was renewed in another algorithm needs the content's hash in this algorithm.
    const imprints = imprintAlgorithms.map((algorithm) =>
      algorithm === 'sha256'
        ? sha256Imprint(sha256)
        : { algorithm, digest: content && createHash(algorithm).update(content).digest('hex') },
    );
    const known = imprints.flatMap(({ algorithm, digest }) => (digest === undefined ? [] : [{ algorithm, digest }]));
    return judgeStamp(Buffer.from(bytes), trusted, sha256Imprint(sha256), known);
  },
});
