import { readFile } from 'node:fs/promises';
import { BundleFault, mostSmallBytes, type OpenedBundle } from '../shared/proof/bundle.js';
import { bundleFiles, ignoredText } from '../shared/proof/bundle-files.js';
import { judgeBundle, StampRefused } from '../shared/proof/judge-bundle.js';
import { isSame } from '../shared/proof/octets.js';
import { type TrustMaterial, TrustMaterialError, type TrustStore } from '../shared/rfc3161/index.ts';
import { openTrust, type TrustOptions } from './anchors.ts';
import { type SearchedBundle, tellBrokenBundle, tellBundle, tellFound, tellNotFound } from './bundle-text.ts';
import type { Context } from './command.ts';
import { digestInput } from './digest-input.ts';
import { CommandFailure, exitCodes, misuse } from './failure.ts';
import {
  asBundleFault,
  type BundleJudgement,
  isBundleFolder,
  isBundlePath,
  isCertainlyBundle,
  judgeStampBy,
  mayBeBundle,
  withBundle,
} from './judge-bundle.ts';
import type { GivenLists } from './list-files.ts';
import { stampBeside } from './subject.ts';
import { countOf } from './terminal.ts';
import { type ToldVerdict, verdictWords } from './verdict-text.ts';

/**
 * Finds the evidence bundles among the names: unpacked bundles, and zip files without a stamp beside them. If there are several, a zip file without a closing record counts
 * as an ordinary file, unless all have none. A zip file in a folder counts only if it has a closing record.
 */
export async function bundlesAmong(names: readonly string[], inFolders: ReadonlySet<string>): Promise<readonly string[]> {
  const zips: string[] = [];
  for (const name of names) {
    if (!isBundlePath(name) || (!isBundleFolder(name) && (await stampBeside(name)) !== undefined)) continue;
    if (!inFolders.has(name) || (await isCertainlyBundle(name))) zips.push(name);
  }
  if (zips.length < 2) return zips;
  const bundles: string[] = [];
  for (const zip of zips) if (await mayBeBundle(zip)) bundles.push(zip);
  return bundles.length > 0 ? bundles : zips;
}

/** The certificates and revocation lists in a bundle. They help to build chains but are not trusted. */
async function broughtBy(
  bundle: OpenedBundle,
): Promise<{ brought: Pick<TrustMaterial, 'intermediates' | 'crls'>; notes: readonly string[] }> {
  const read = async (name: string): Promise<string[]> => {
    const text = Buffer.from(await bundle.bytesOf(name)).toString('latin1');
    return text.includes('-----BEGIN') ? [text] : [];
  };
  const isLarge = bundle.sizeOf(bundleFiles.revocationLists) > mostSmallBytes;
  return {
    brought: {
      intermediates: [...(await read(bundleFiles.otherCertificates)), ...(await read(bundleFiles.trustAnchors))],
      crls: isLarge ? [] : await read(bundleFiles.revocationLists),
    },
    notes: isLarge ? ['the revocation lists of the bundle: they are too large; give them with --crl'] : [],
  };
}

const knownScript = new URL('../../views/bundle/verify.py', import.meta.url);

/** Warns if `verify.py` in the bundle is not our script: then the author of the bundle wrote it, and it may print anything. */
async function scriptNotes(bundle: OpenedBundle): Promise<readonly string[]> {
  const isKnown = isSame(await bundle.bytesOf(bundleFiles.script), await readFile(knownScript));
  return isKnown ? [] : ['verify.py: it is not the script that this command knows; read it before you run it'];
}

async function trustFor(
  bundle: OpenedBundle,
  options: TrustOptions,
  anchorsFolder: string,
): Promise<{ trust: TrustStore; notes: readonly string[] }> {
  const { brought, notes } = await broughtBy(bundle);
  try {
    return { trust: await openTrust(anchorsFolder, options, brought), notes };
  } catch (error) {
    const cause = error instanceof CommandFailure || error instanceof TrustMaterialError ? error.message.replace(/^: /, '') : undefined;
    if (cause === undefined) throw error;
    throw new BundleFault('bundle_malformed', `The certificates in the bundle cannot be used: ${cause}`);
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

/**
 * Judges each evidence bundle on its own, and searches all of them for each file. It works offline. It returns the files that are in none of the
 * bundles but have a stamp beside them. They are not judged here.
 *
 * @throws CommandFailure if the user's trust anchors cannot be read
 */
export async function verifyBundles(
  bundles: readonly string[],
  files: readonly string[],
  options: TrustOptions & { readonly online?: true },
  { terminal, stdin, anchorsFolder }: Context,
  given: GivenLists,
): Promise<readonly string[]> {
  if (options.online) throw misuse('--online works for stamps, not for bundles');
  // Opened here first, so that a fault in the user's trust anchors does not look like a fault in a bundle.
  await openTrust(anchorsFolder, options);
  const print = ({ json, line, details, verdict, sign = verdict }: ToldVerdict) => terminal.result(json, line, details, sign);
  const count = ({ verdict, code }: ToldVerdict) => terminal.count(verdictWords[verdict], code);
  const digests = new Map<string, string>();
  for (const file of files) {
    try {
      digests.set(file, (await digestInput(file, stdin, { onBytes: terminal.track(file) })).imprint.digest);
    } catch (error) {
      terminal.problem(file, error);
    }
  }

  /** Judges one bundle and prints the result. @throws CommandFailure if it cannot be read; BundleFault or StampRefused if it does not verify */
  const judge = (path: string): Promise<BundleJudgement> =>
    withBundle(path, async (bundle) => {
      const { trust, notes } = await trustFor(bundle, options, anchorsFolder);
      const { lists, notes: listNotes } = await listsFor(bundle, given);
      const advance = terminal.track(path, (amount) => countOf(amount, 'output'));
      const onOutput = () => advance(1, bundle.record.output_count);
      const judgement = await judgeBundle(bundle, {
        ...judgeStampBy(trust, Date.now(), lists),
        wanted: new Set(digests.values()),
        onOutput,
      });
      const told = tellBundle(path, judgement, trust, [
        ...notes,
        ...listNotes,
        ...(await scriptNotes(bundle)),
        ...ignoredText(bundle.ignored),
      ]);
      print(told);
      count(told);
      return judgement;
    });

  const searched: SearchedBundle[] = [];
  for (const path of bundles) {
    try {
      searched.push({ name: path, judgement: await judge(path) });
    } catch (error) {
      const fault = await asBundleFault(path, error);
      if (fault instanceof BundleFault || fault instanceof StampRefused) {
        const told = tellBrokenBundle(path, fault);
        print(told);
        count(told);
        searched.push({ name: path, judgement: undefined });
      } else terminal.problem(path, fault);
    }
  }
  const stamped: string[] = [];
  const unread = bundles.find((path) => !searched.some(({ name }) => name === path));
  for (const [file, sha256] of digests) {
    const found = tellFound(file, sha256, searched);
    if (found.length === 0 && (await stampBeside(file)) !== undefined) {
      stamped.push(file);
      continue;
    }
    if (found.length === 0 && unread !== undefined) {
      const why = `it is in none of the readable bundles, and ${unread} could not be read`;
      terminal.problem(file, new CommandFailure(exitCodes.file, why));
      continue;
    }
    const [first = tellNotFound(file, sha256, searched), ...others] = found;
    for (const told of [first, ...others]) print(told);
    count(first);
  }
  return stamped;
}
