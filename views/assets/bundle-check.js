// @ts-check
// An evidence bundle judged in the browser (W22). Only the time-stamps of the Merkle root and of the closing record are sent to the service, which judges who
// signed them; everything else is recomputed here, by the rules of the command.
import { DerFault } from './der.js';
import { firstTokenOf, readImprint } from './evidence-imprint.js';
import { hashers, sha256 } from './hashes.js';
import { inflate } from './inflate.js';
import { BundleFault, hasClosingRecord, openBundle } from './proof/bundle.js';
import { judgeBundle, StampRefused } from './proof/judge-bundle.js';
import { base64Of, octetsOfSha256 } from './proof/octets.js';
import { blobSource, ZipFault } from './proof/zip-source.js';

/** What the service says of a time-stamp. @typedef {import('./proof/judge-bundle.js').StampJudgement & { provider?: string | null }} SealJudgement */
/** @typedef {import('./proof/judge-bundle.js').BundleJudgement<SealJudgement>} BundleJudgement */

/** @param {File} file */
export const isBundle = async (file) => {
  if (!/\.zip$/i.test(file.name)) return false;
  return hasClosingRecord(blobSource(file), inflate).catch(() => false);
};

/**
 * @param {File} file
 * @param {ReadonlySet<string>} wanted SHA-256 of the files that are looked for, lower-case hex
 * @param {(done: number, total: number) => void} onOutput
 * @returns {Promise<BundleJudgement | { fault: string }>} or what does not fit, in one sentence behind its code
 * @throws {TypeError} where the service cannot be reached
 */
export async function judgeBundleFile(file, wanted, onOutput) {
  try {
    const bundle = await openBundle(blobSource(file), { inflate, sha256, createSha256: hashers.sha256 });
    const total = bundle.record.output_count;
    return await judgeBundle(bundle, { judgeStamp, firstTokenOf, wanted, onOutput: (number) => onOutput(number, total) });
  } catch (error) {
    if (error instanceof BundleFault) return { fault: `${error.code}: ${error.message}` };
    if (error instanceof StampRefused) return { fault: `${error.code.replace(/\.$/, '')} (${error.what}).` };
    if (error instanceof ZipFault) return { fault: `bundle_malformed: It cannot be read: ${error.message}.` };
    throw error;
  }
}

/** @param {Uint8Array} stamp @param {import('./proof/judge-bundle.js').Stamped} stamped @returns {Promise<SealJudgement>} */
async function judgeStamp(stamp, stamped) {
  const stated = statedBy(stamp, stamped.sha256);
  if ('verdict' in stated) return stated;
  // The own time-stamp of an output: who signed it stays open.
  if (stamped.content === undefined) return { verdict: 'not_proved', reason: undefined, stated };
  const response = await fetch('/api/v1/verify/v1/raw', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: base64Of(stamp), hash: stamped.sha256 }),
  });
  if (!response.ok) throw new TypeError(`status ${response.status}`);
  const { verdict, reason, tsp_provider } = await response.json();
  return { verdict, reason: reason ?? undefined, stated, provider: tsp_provider };
}

/** The time that a time-stamp names, where it is for this hash. @param {Uint8Array} stamp @param {string} hash @returns {{ genTime: Date } | SealJudgement} */
function statedBy(stamp, hash) {
  try {
    const { isFor, genTime } = readImprint(stamp, octetsOfSha256(hash));
    return isFor ? { genTime: new Date(genTime) } : { verdict: 'not_valid', reason: 'imprint_mismatch', stated: undefined };
  } catch (error) {
    if (error instanceof DerFault) return { verdict: 'not_valid', reason: 'der_malformed', stated: undefined };
    throw error;
  }
}
