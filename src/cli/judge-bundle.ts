import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { Readable } from 'node:stream';
import { sha256 } from '../shared/domain/proofs.ts';
import { type Imprint, imprintAlgorithms, isSameImprint, sha256Imprint } from '../shared/domain/stamp.ts';
import {
  type BundleFile,
  type BundleTools,
  hasClosingRecord,
  mostEntries,
  type OpenedBundle,
  openBundle,
  openUnpacked,
} from '../shared/proof/bundle.js';
import { bundleFiles } from '../shared/proof/bundle-files.js';
import type * as proof from '../shared/proof/judge-bundle.js';
import { ZipFault } from '../shared/proof/zip-source.js';
import { firstTokenOf, type TrustStore } from '../shared/rfc3161/index.ts';
import type { ListIndex } from '../shared/trust/lists/index.ts';
import { asZipFailure, inflate, openZipSource } from './container.ts';
import { CommandFailure, exitCodes } from './failure.ts';
import { imprintSaidBy, judgeToken, type TokenVerdict } from './judge.ts';

export type BundleJudgement = proof.BundleJudgement<TokenVerdict>;
export type FoundOutput = proof.FoundOutput<TokenVerdict>;

const tools: BundleTools = { inflate, sha256, createSha256: () => createHash('sha256') };

/** Whether a path may be that of a bundle: a zip file, or an unpacked bundle. */
export const isBundlePath = (path: string): boolean => /\.zip$/i.test(path) || isBundleFolder(path);

/** Whether a path is that of a folder with an unpacked bundle. */
export const isBundleFolder = (path: string): boolean =>
  [bundleFiles.closingRecord, bundleFiles.sums].every((name) => existsSync(join(path, name)));

/** The files and folders in a folder, as entries of a zip file: a folder has a name that ends with a slash. */
async function filesInFolder(folder: string): Promise<Map<string, BundleFile>> {
  const files = new Map<string, BundleFile>();
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(folder, path).replaceAll(sep, '/');
    if (files.size === mostEntries) throw new ZipFault(`it has more than ${mostEntries} entries`);
    if (entry.isDirectory()) files.set(`${name}/`, { size: 0, read: async function* () {} });
    else if (entry.isFile()) {
      const { size } = await stat(path);
      files.set(name, { size, read: () => (size === 0 ? Readable.from([]) : createReadStream(path, { end: size - 1 })) });
    } else throw new ZipFault(`${name} is neither a file nor a folder`);
  }
  return files;
}

/** Turns an error while reading a bundle into a CommandFailure with one sentence. Faults in its contents are returned unchanged. */
export async function asBundleFault(path: string, error: unknown): Promise<unknown> {
  if (!(error instanceof ZipFault) || !(await isBundle(path).catch(() => false)))
    return asZipFailure('an evidence bundle, and no stamp is beside it', error);
  const advice = 'get it again with "qstamp workflow bundle ID"';
  return new CommandFailure(exitCodes.notValid, `this evidence bundle cannot be used: ${error.message}; ${advice}`);
}

/** Opens an evidence bundle (W22), packed or unpacked, calls `use` with it, and closes it. */
export async function withBundle<Result>(path: string, use: (bundle: OpenedBundle) => Promise<Result>): Promise<Result> {
  if (isBundleFolder(path)) return use(await openUnpacked(await filesInFolder(path), tools));
  const source = await openZipSource(path);
  try {
    return await use(await openBundle(source, tools));
  } finally {
    await source.close();
  }
}

/**
 * Whether a zip file may be a bundle: it has a closing record, or it cannot be read. In the second case, the error is reported when the file is
 * opened later.
 */
export const mayBeBundle = (path: string): Promise<boolean> => isBundle(path).catch(() => true);

/** Whether a file can be read as a zip file with a closing record. */
export const isCertainlyBundle = (path: string): Promise<boolean> => isBundle(path).catch(() => false);

async function isBundle(path: string): Promise<boolean> {
  if (isBundleFolder(path)) return true;
  const source = await openZipSource(path);
  return hasClosingRecord(source, inflate).finally(source.close);
}

/**
 * The imprints of a stamped hash. If the content is known, they include other algorithms: an evidence record that was renewed in another algorithm
 * needs the content's hash in this algorithm.
 */
const imprintsOf = ({ sha256, content }: proof.Stamped): readonly Imprint[] => {
  const others = content === undefined ? [] : imprintAlgorithms.filter((algorithm) => algorithm !== 'sha256');
  return [
    sha256Imprint(sha256),
    ...others.map((algorithm) => ({ algorithm, digest: createHash(algorithm).update(content!).digest('hex') })),
  ];
};

/**
 * Creates the functions that verify the time-stamps of a bundle with the anchors of `trust` and with trusted lists.
 *
 * @param nowMs milliseconds since the epoch
 */
export const judgeStampBy = (
  trust: TrustStore,
  nowMs: number,
  lists: ListIndex | undefined,
): Pick<proof.BundleJudge<TokenVerdict>, 'judgeStamp' | 'firstTokenOf'> => ({
  firstTokenOf: (record) => firstTokenOf(Buffer.from(record)),
  judgeStamp: async (bytes, stamped) => {
    const judged = await judgeToken(Buffer.from(bytes), trust, nowMs, imprintsOf(stamped), lists);
    const said = imprintSaidBy(judged);
    if (judged.verdict === 'not_valid' || !said || isSameImprint(said, sha256Imprint(stamped.sha256))) return judged;
    return { verdict: 'not_valid', reason: 'imprint_mismatch', stated: undefined };
  },
});
