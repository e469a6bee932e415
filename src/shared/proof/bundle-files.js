// @ts-check
// The files of an evidence bundle, and their order (W22). A bundle is the evidence of a completed workflow for third parties.

/** The number of outputs in each proofs file and in each stamps file; the last may have fewer. */
export const blockSize = 1_000;

/** Returns the number of the first output in each block. @param {number} outputCount @returns {readonly number[]} */
export const blocksOf = (outputCount) => Array.from({ length: Math.ceil(outputCount / blockSize) }, (_, index) => index * blockSize + 1);

export const bundleFiles = {
  readme: 'README.txt',
  script: 'verify.py',
  closingRecord: 'closing-record.json',
  /** The file whose SHA-256 is the root: 0x01 ‖ left ‖ right, or 0x00 ‖ hash if there is only one output. Empty if there is none. */
  rootPreimage: 'root.bin',
  /** A line for each output: number, output hash, chain hash, type, stamp id. */
  outputs: 'outputs.txt',
  /** A line for each output of the block: number, hashes of the inclusion path, lowest first (RFC 9162 §2.1.3). @param {number} block */
  proofs: (block) => `proofs/${block}.txt`,
  /** A line for each output of the block: number, kind, base64 of the output's own time-stamp. @param {number} block */
  stamps: (block) => `stamps/${block}.txt`,
  trustAnchors: 'certificates/anchors.pem',
  otherCertificates: 'certificates/others.pem',
  revocationLists: 'certificates/revocation-lists.pem',
  /** A line with SHA-256 and name for each file that `listedFiles` returns, in the same order. */
  sums: 'SHA256SUMS',
};

/**
 * The name of a trusted list: territory and number, such as `trusted-lists/SE-61.xml`. A bundle has lists only if they were asked for. SHA256SUMS does
 * not list them, because each is signed by its country.
 *
 * @param {{ readonly territory: string, readonly sequenceNumber: number }} list
 */
export const listFile = ({ territory, sequenceNumber }) => `trusted-lists/${territory}-${sequenceNumber}.xml`;

/** @param {string} name */
export const isListFile = (name) => /^trusted-lists\/[A-Z]{2}-(0|[1-9][0-9]{0,8})\.xml$/.test(name);

/**
 * Returns true for entries that programs add if somebody unpacks a bundle and packs it again: folders, and files of the file managers of macOS and
 * Windows. They are ignored. @param {string} name @param {number} size
 */
function isAdded(name, size) {
  const parts = name.split('/');
  const last = parts.at(-1);
  return (
    (last === '' && size === 0) ||
    parts.includes('__MACOSX') ||
    /^(\._.*|\.DS_Store|\.directory|Thumbs\.db|desktop\.ini)$/i.test(last ?? '')
  );
}

/**
 * Finds the files of a bundle among the entries of a zip file or a folder. `ignored`: the names of entries that are not read, and the folder if all files
 * of the bundle are in one common folder.
 *
 * @template {{ readonly size: number }} Entry
 * @param {ReadonlyMap<string, Entry>} entries
 * @returns {{ files: ReadonlyMap<string, Entry>, ignored: readonly string[] }}
 */
export function filesAmong(entries) {
  const all = [...entries];
  const ignored = all.flatMap(([name, { size }]) => (isAdded(name, size) ? [name] : []));
  const files = all.filter(([name, { size }]) => !isAdded(name, size));
  const folder = /^[^/]+\//.exec(files[0]?.[0] ?? '')?.[0];
  const isInFolder = folder && entries.has(folder + bundleFiles.closingRecord) && files.every(([name]) => name.startsWith(folder));
  if (!isInFolder) return { files: new Map(files), ignored };
  return {
    files: new Map(files.map(([name, entry]) => [name.slice(folder.length), entry])),
    ignored: [...new Set([folder, ...ignored])],
  };
}

/** The item of *not checked* for ignored entries; empty if there are none. @param {readonly string[]} ignored */
export function ignoredText(ignored) {
  if (ignored.length === 0) return [];
  const more = ignored.length > 6 ? ` and ${ignored.length - 6} more` : '';
  return [`added by other programs, and not a part of the bundle: ${ignored.slice(0, 6).join(', ')}${more}`];
}

/** The names of the seals: the two hashes that are stamped for the whole workflow. */
export const sealNames = /** @type {const} */ (['closing-record', 'root']);
/** @typedef {typeof sealNames[number]} SealName */

/** The names of the files for a seal. The record is present only if the token came in an evidence record. @param {SealName} name */
export const sealFiles = (name) => ({ token: `${name}.tst`, record: `${name}.ers` });

/**
 * Which files a bundle has for each seal. @typedef {Readonly<Record<SealName, { readonly hasToken: boolean, readonly hasRecord: boolean }>>}
 * Seals
 */

/**
 * Returns the names of all files that SHA256SUMS lists, in the order of SHA256SUMS.
 * @param {number} outputCount @param {Seals} seals @returns {readonly string[]}
 */
export function listedFiles(outputCount, seals) {
  const blocks = blocksOf(outputCount);
  const filesOf = (/** @type {SealName} */ name) => [
    ...(seals[name].hasToken ? [sealFiles(name).token] : []),
    ...(seals[name].hasRecord ? [sealFiles(name).record] : []),
  ];
  return [
    bundleFiles.readme,
    bundleFiles.script,
    bundleFiles.closingRecord,
    ...filesOf('closing-record'),
    bundleFiles.rootPreimage,
    ...filesOf('root'),
    bundleFiles.outputs,
    ...blocks.map(bundleFiles.proofs),
    ...blocks.map(bundleFiles.stamps),
    bundleFiles.trustAnchors,
    bundleFiles.otherCertificates,
    bundleFiles.revocationLists,
  ];
}
