// @ts-check
// Judges an evidence bundle in the browser (W22). Only the time-stamps of the Merkle root and of the closing record are sent to the service, which verifies
// their signers, with the revocation lists of the bundle. Chain, tree, proofs, closing record and the hashes of all files are checked here, by the same rules as in the command.
import { DerFault, UnjudgedFault } from './der.js';
import { firstTokenOf, readImprint } from './evidence-imprint.js';
import { hashers, sha256 } from './hashes.js';
import { inflate } from './inflate.js';
import { BundleFault, hasClosingRecord, malformed, openBundle } from './proof/bundle.js';
import { bundleFiles, ignoredText } from './proof/bundle-files.js';
import { judgeBundle, StampRefused } from './proof/judge-bundle.js';
import { base64Of, hexOf, octetsOfSha256 } from './proof/octets.js';
import { blobSource, ZipFault } from './proof/zip-source.js';

/**
 * The judgement of a time-stamp. If the service verified it, the judgement also has its provider and the facts that were not checked.
 *
 * @typedef {import('./proof/judge-bundle.js').TimeStampJudgement & { provider?: string | null, notChecked?: readonly string[], isDevelopment?: boolean, notQualified?: string }} StampJudgement
 */
/** @typedef {import('./proof/judge-bundle.js').BundleJudgement<StampJudgement>} BundleJudgement */

const listsName = bundleFiles.revocationLists;
/** The service takes 64 revocation lists with 256 KiB in all: a little more in PEM. */
const [mostCrls, mostCrlBytes] = [64, 350_000];
const tooLarge = 'the revocation lists in the bundle: they are too large for this page; qstamp verify judges by them';

/** The revocation lists in a bundle, in base64; undefined if they are too many or too large. @param {import('./proof/bundle.js').OpenedBundle} bundle */
async function revocationListsOf(bundle) {
  if (bundle.sizeOf(listsName) > mostCrlBytes) return undefined;
  const pem = new TextDecoder('latin1').decode(await bundle.bytesOf(listsName));
  const lists = [...pem.matchAll(/-----BEGIN X509 CRL-----([^-]+)-----END X509 CRL-----/g)].map(([, list = '']) => list.replace(/\s/g, ''));
  return lists.length <= mostCrls ? lists : undefined;
}

/** Whether a file is an evidence bundle. Undefined for a zip file that cannot be read: its error is reported when it is judged. @param {File} file */
export async function isBundle(file) {
  if (!/\.zip$/i.test(file.name)) return false;
  try {
    return await hasClosingRecord(blobSource(file), inflate);
  } catch {
    return undefined;
  }
}

/**
 * @param {File} file
 * @param {ReadonlySet<string>} wanted SHA-256 of the files to find, lower-case hex
 * @param {(done: number, total: number) => void} onOutput
 * @returns {Promise<(BundleJudgement & { notes: readonly string[] }) | { fault: string }>} the judgement, or `fault`: a reason code and a sentence
 * @throws {Error} if the file cannot be read, or the service does not answer
 */
export async function judgeBundleFile(file, wanted, onOutput) {
  try {
    const bundle = await openBundle(blobSource(file), { inflate, sha256, createSha256: hashers.sha256 });
    const total = bundle.record.output_count;
    const lists = await revocationListsOf(bundle);
    const judge = {
      judgeStamp: judgeStampBy(lists ?? []),
      firstTokenOf,
      wanted,
      onOutput: (/** @type {number} */ number) => onOutput(number, total),
    };
    return { ...(await judgeBundle(bundle, judge)), notes: [...(lists ? [] : [tooLarge]), ...ignoredText(bundle.ignored)] };
  } catch (error) {
    if (error instanceof BundleFault) return { fault: `${error.code}: ${error.message}` };
    if (error instanceof StampRefused) return { fault: `${error.code.replace(/\.$/, '')} (${error.what}).` };
    if (error instanceof ZipFault) return { fault: `bundle_malformed: It cannot be read: ${error.message}.` };
    throw error;
  }
}

/**
 * Judges one time-stamp. The service verifies only the seals, which are the stamps with `content`; the signers of the outputs' own time-stamps are
 * not checked.
 *
 * @param {readonly string[]} lists revocation lists, base64
 * @returns {(stamp: Uint8Array, stamped: import('./proof/judge-bundle.js').Stamped) => Promise<StampJudgement>}
 */
const judgeStampBy = (lists) => async (stamp, stamped) => {
  const judged = judgeHere(stamp, stamped.sha256);
  return judged.stated && stamped.content ? judgeThere(stamp, { ...stamped, content: stamped.content }, lists, judged.stated) : judged;
};

/** Checks that a time-stamp is for this hash, and reads its time. @param {Uint8Array} stamp @param {string} hash @returns {StampJudgement} */
function judgeHere(stamp, hash) {
  try {
    const { isFor, genTime } = readImprint(stamp, octetsOfSha256(hash));
    if (!isFor) return { verdict: 'not_valid', reason: 'imprint_mismatch', stated: undefined };
    return { verdict: 'not_proved', reason: undefined, stated: { genTime: new Date(genTime) } };
  } catch (error) {
    if (error instanceof UnjudgedFault) return { verdict: 'not_proved', reason: error.message, stated: undefined };
    if (error instanceof DerFault) return { verdict: 'not_valid', reason: 'der_malformed', stated: undefined };
    throw error;
  }
}

/**
 * Lets the service verify a time-stamp.
 *
 * @param {Uint8Array} stamp
 * @param {{ sha256: string, content: Uint8Array }} stamped an evidence record that was renewed in another algorithm needs the hash in this algorithm
 * @param {readonly string[]} lists revocation lists, base64
 * @param {NonNullable<StampJudgement['stated']>} stated
 * @returns {Promise<StampJudgement>}
 */
async function judgeThere(stamp, { sha256: hash, content }, lists, stated) {
  const hashes = [hashers.sha384(), hashers.sha512()].map((hasher) => hexOf(hasher.update(content).digest()));
  const response = await fetch('/api/v1/verify/v1/raw?details=true', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: base64Of(stamp), hash, hashes, revocation_lists: lists }),
  });
  if (response.status === 422) throw malformed('The revocation lists in the bundle cannot be used.');
  if (!response.ok) throw new Error(`the service answered ${response.status}`);
  const { verdict, reason, tsp_provider: provider, not_checked: notChecked, qualified } = await response.json();
  const isDevelopment = qualified?.reason?.startsWith('development_tsa:') === true;
  const judged = { verdict, reason: reason ?? undefined, stated, provider, notChecked, isDevelopment };
  return qualified?.status === 'not_qualified' ? { ...judged, notQualified: qualified.reason ?? '' } : judged;
}
