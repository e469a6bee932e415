// @ts-check
// Judges what an evidence bundle proves (W22). This module checks chain, tree, inclusion proofs, closing record, root.bin and times. The caller's
// judge verifies the time-stamps.
import { BundleFault, malformed } from './bundle.js';
import { blockSize, bundleFiles, sealFiles } from './bundle-files.js';
import { createProofVerifier } from './merkle-proof.js';
import { createMerkle } from './merkle-tree.js';
import { hexOf, isLowerSha256, isSame, octetsOfBase64, octetsOfSha256 } from './octets.js';
import { chainStart, createOutputChain } from './output-chain.js';

/** @typedef {import('./bundle.js').OpenedBundle} OpenedBundle */

/**
 * The result for one time-stamp.
 *
 * @typedef {object} TimeStampJudgement
 * @property {'valid' | 'not_proved' | 'not_valid'} verdict `not_proved`: no fault was found, but no trust anchor covers the time-stamp, or it could not
 *   be checked
 * @property {string | undefined} reason a reason code, if it is not valid
 * @property {{ readonly genTime: Date } | undefined} stated the contents of the time-stamp, if it could be read
 * @property {{ readonly genTime: Date } | undefined} [claims] the same for a time-stamp that could be read but not checked
 */

/**
 * The hash that a time-stamp must cover. `content` is the hashed content, if the bundle has it: an evidence record that was renewed with another hash
 * algorithm needs the content's hash in this algorithm. The SHA-256 of `content` is checked later.
 *
 * @typedef {{ readonly sha256: string, readonly content?: Uint8Array }} Stamped
 */

/**
 * The functions and data of the caller.
 *
 * @template {TimeStampJudgement} Judgement
 * @typedef {object} BundleJudge
 * @property {(bytes: Uint8Array, stamped: Stamped, what: string) => Promise<Judgement>} judgeStamp judges a token or evidence record, DER. If it covers
 *   another hash, the verdict is `not_valid` with the reason `imprint_mismatch`. `what`: a name of the time-stamp for people
 * @property {(record: Uint8Array) => Uint8Array} firstTokenOf the token in the first time-stamp of an evidence record, DER
 * @property {ReadonlySet<string>} wanted SHA-256 of the files to look for, lower-case hex
 * @property {(sequenceNumber: number) => void} onOutput called after each output
 */

/**
 * A file that was found: its position in the bundle, and the contents of its own time-stamp (undefined if the time-stamp is not valid).
 *
 * @template {TimeStampJudgement} Judgement
 * @typedef {{ readonly sequenceNumber: number, readonly stamp: Judgement['stated'] }} FoundOutput
 */

/**
 * The result for a bundle.
 *
 * @template {TimeStampJudgement} Judgement
 * @typedef {object} BundleJudgement
 * @property {import('./closing-record.js').ClosingRecord} record
 * @property {Judgement | undefined} root the result for the root's time-stamp; undefined if the bundle does not have it
 * @property {Judgement | undefined} closing the result for the closing record's time-stamp; undefined if the bundle does not have it
 * @property {{ readonly valid: number, readonly notProved: number, readonly none: number }} own the number of outputs whose own time-stamp is proved,
 *   is not proved, or is not in the bundle
 * @property {ReadonlyMap<string, readonly FoundOutput<Judgement>[]>} found by the SHA-256 of a file, lower-case hex
 */

/** Thrown if a time-stamp in a bundle, or the inclusion proof of an output, is refused. `what` names it for people. */
export class StampRefused extends Error {
  /** @override */
  name = 'StampRefused';

  /** @param {string} code @param {string} what */
  constructor(code, what) {
    super(`${what}: ${code}`);
    this.code = code;
    this.what = what;
  }
}

/**
 * Returns the verdict on a bundle as a whole: both seals must be valid. `reason`: why a seal is not valid. `missing`: the missing seals, for people.
 *
 * @template {TimeStampJudgement} Judgement
 * @param {Pick<BundleJudgement<Judgement>, 'root' | 'closing'>} judgement
 * @returns {{ verdict: 'valid' | 'not_proved', reason: Judgement['reason'] | 'no_token', missing: string }}
 */
export function bundleVerdictOf({ root, closing }) {
  const missing = [...(root ? [] : ['the Merkle root']), ...(closing ? [] : ['the closing record'])].join(' and of ');
  if (missing) return { verdict: 'not_proved', reason: 'no_token', missing };
  const unproved = [root, closing].find((seal) => seal?.verdict !== 'valid');
  return { verdict: unproved ? 'not_proved' : 'valid', reason: unproved?.reason, missing };
}

/** @param {string} sentence */
const breaks = (sentence) => new BundleFault('chain_mismatch', sentence);

/**
 * Judges the contents of a bundle. First it judges the seals, then each output with its link in the chain, its inclusion proof and its own time-stamp,
 * and at the end chain and root.
 *
 * @template {TimeStampJudgement} Judgement
 * @param {OpenedBundle} bundle
 * @param {BundleJudge<Judgement>} judge
 * @returns {Promise<BundleJudgement<Judgement>>}
 * @throws {BundleFault | StampRefused} also ZipFault, and errors of the zip file's source and of the judge
 */
export async function judgeBundle(bundle, judge) {
  const { record, recordOctets } = bundle;
  const sha256Of = (/** @type {Uint8Array} */ octets) => hexOf(bundle.tools.sha256(octets));
  for (const name of [bundleFiles.readme, bundleFiles.script, bundleFiles.closingRecord]) await bundle.check(name);
  const closing = await judgeSeal(bundle, 'closing-record', { sha256: sha256Of(recordOctets), content: recordOctets }, judge);
  const preimage = await bundle.bytesOf(bundleFiles.rootPreimage);
  const root = await judgeSeal(bundle, 'root', { sha256: record.merkle_root, content: preimage }, judge);
  checkTimes(record, root?.stated ?? root?.claims, closing?.stated ?? closing?.claims);
  if (sha256Of(preimage) !== record.merkle_root) throw new BundleFault('root_mismatch', 'The SHA-256 of root.bin is not the Merkle root.');
  const { own, found } = await judgeOutputs(bundle, judge);
  for (const name of [bundleFiles.trustAnchors, bundleFiles.otherCertificates, bundleFiles.revocationLists]) await bundle.check(name);
  return { record, root, closing, own, found };
}

/**
 * Judges a time-stamp that must not be wrong. @throws {StampRefused}
 *
 * @template {TimeStampJudgement} Judgement
 * @param {BundleJudge<Judgement>} judge
 * @param {Uint8Array} bytes
 * @param {Stamped} stamped
 * @param {string} what
 */
async function judgeStamp(judge, bytes, stamped, what) {
  const judged = await judge.judgeStamp(bytes, stamped, what);
  if (judged.verdict === 'not_valid') throw new StampRefused(judged.reason ?? 'unknown_format', what);
  return judged;
}

/**
 * Judges the time-stamp of the root or of the closing record. Returns undefined if the bundle does not have it.
 *
 * @template {TimeStampJudgement} Judgement
 * @param {OpenedBundle} bundle
 * @param {import('./bundle-files.js').SealName} name
 * @param {Stamped} stamped
 * @param {BundleJudge<Judgement>} judge
 */
async function judgeSeal(bundle, name, stamped, judge) {
  const { hasToken, hasRecord } = bundle.seals[name];
  const files = sealFiles(name);
  const what = name === 'root' ? 'the time-stamp of the Merkle root' : 'the time-stamp of the closing record';
  if (!hasToken) return undefined;
  const token = await bundle.bytesOf(files.token);
  if (!hasRecord) return judgeStamp(judge, token, stamped, what);
  const record = await bundle.bytesOf(files.record);
  const judged = await judgeStamp(judge, record, stamped, what);
  if (!isSame(judge.firstTokenOf(record), token)) throw malformed(`${files.token} is not the token in ${files.record}.`);
  return judged;
}

/** @param {import('./closing-record.js').ClosingRecord} record @param {TimeStampJudgement['stated']} root @param {TimeStampJudgement['stated']} closing */
function checkTimes({ completed_at }, root, closing) {
  if (root && root.genTime.getTime() !== Date.parse(completed_at))
    throw new BundleFault('time_mismatch', 'The time-stamp of the Merkle root does not have the time in the closing record.');
  if (root && closing && Math.floor(closing.genTime.getTime() / 1000) < Math.floor(root.genTime.getTime() / 1000))
    throw new BundleFault('time_mismatch', 'The closing record was stamped before the Merkle root.');
}

/** @param {AsyncGenerator<string>} lines */
async function nextOf(lines) {
  const { done, value } = await lines.next();
  return done ? undefined : value;
}

/**
 * Judges all outputs in one pass, and then checks the end of the chain and the root.
 *
 * @template {TimeStampJudgement} Judgement
 * @param {OpenedBundle} bundle
 * @param {BundleJudge<Judgement>} judge
 */
async function judgeOutputs(bundle, judge) {
  const { record, tools } = bundle;
  const merkle = createMerkle(tools.sha256);
  const { verifyInclusion } = createProofVerifier(merkle);
  const { checkLink } = createOutputChain(tools.sha256);
  const head = { treeSize: record.output_count, rootHash: octetsOfSha256(record.merkle_root) };
  const tree = merkle.createTreeHeadBuilder();
  const own = { valid: 0, notProved: 0, none: 0 };
  /** @type {Map<string, FoundOutput<Judgement>[]>} */
  const found = new Map();
  let end = chainStart(record.briefing_hash);
  const outputs = bundle.linesOf(bundleFiles.outputs);
  let proofs = bundle.linesOf(bundleFiles.proofs(1));
  let stamps = bundle.linesOf(bundleFiles.stamps(1));
  for (let number = 1; number <= record.output_count; number += 1) {
    if (number > 1 && number % blockSize === 1) {
      proofs = bundle.linesOf(bundleFiles.proofs(number));
      stamps = bundle.linesOf(bundleFiles.stamps(number));
    }
    const line = await nextOf(outputs);
    if (line === undefined) throw breaks(`The closing record says ${record.output_count} outputs, but outputs.txt has ${number - 1}.`);
    const [listed, outputHash = '', chainHash = '', ...others] = line.split(' ');
    const link = { sequenceNumber: number, outputHash, chainHash };
    const isLine = listed === String(number) && isLowerSha256(outputHash) && others.length === 2;
    if (!isLine || checkLink(end, link)) throw breaks(`The chain breaks at output ${number}.`);
    end = link;
    tree.append(octetsOfSha256(outputHash));
    checkProof(await nextOf(proofs), number, outputHash);
    const stamp = await judgeOwn(await nextOf(stamps), number, outputHash);
    if (judge.wanted.has(outputHash)) {
      const places = found.get(outputHash) ?? [];
      places.push({ sequenceNumber: number, stamp });
      found.set(outputHash, places);
    }
    if (number % blockSize === 0 || number === record.output_count) {
      if ((await nextOf(proofs)) !== undefined || (await nextOf(stamps)) !== undefined)
        throw malformed(`There are more proofs or stamps than outputs up to ${number}.`);
    }
    judge.onOutput(number);
  }
  if ((await nextOf(outputs)) !== undefined)
    throw breaks(`The closing record says ${record.output_count} outputs, but outputs.txt has more.`);
  if (end.chainHash !== record.chain_hash) throw breaks('The chain does not end with the hash in the closing record.');
  if (hexOf(tree.head().rootHash) !== record.merkle_root)
    throw new BundleFault('root_mismatch', 'The Merkle root of the outputs is not the one in the closing record.');
  return { own, found };

  /** @param {string | undefined} line @param {number} number @param {string} outputHash */
  function checkProof(line, number, outputHash) {
    const [listed, ...path] = (line ?? '').split(' ');
    if (listed !== String(number)) throw malformed(`The inclusion proof of output ${number} is missing.`);
    const isPath = path.every(isLowerSha256);
    const proof = { treeSize: head.treeSize, leafIndex: number - 1, inclusionPath: isPath ? path.map(octetsOfSha256) : [] };
    if (!isPath || !verifyInclusion(octetsOfSha256(outputHash), proof, head).ok)
      throw new StampRefused('inclusion_proof_invalid', `output ${number}`);
  }

  /**
   * Judges the own time-stamp of an output. Returns its contents, or undefined if it is missing, expired or not proved.
   * @param {string | undefined} line @param {number} number @param {string} outputHash
   */
  async function judgeOwn(line, number, outputHash) {
    const [listed, kind, token = '', ...others] = (line ?? '').split(' ');
    if (listed !== String(number)) throw malformed(`The stamp of output ${number} is missing.`);
    if (others.length > 0 || (kind === 'none' && line !== `${number} none`))
      throw malformed(`The stamp of output ${number} has the wrong form.`);
    if (kind === 'none') {
      own.none += 1;
      return undefined;
    }
    if (kind !== 'token' && kind !== 'record') throw malformed(`The stamp of output ${number} has an unknown kind.`);
    const bytes = octetsOfBase64(token);
    if (!bytes) throw malformed(`The stamp of output ${number} is not in base64.`);
    const what = `the own time-stamp of output ${number}`;
    const judged = await judge.judgeStamp(bytes, { sha256: outputHash }, what);
    // A record without renewals may have expired. This is not a fault of the bundle, because the root still covers the output.
    const isExpired = judged.verdict === 'not_valid' && judged.reason === 'evidence_expired';
    if (judged.verdict === 'not_valid' && !isExpired) throw new StampRefused(judged.reason ?? 'unknown_format', what);
    if (judged.verdict === 'valid' && judged.stated) {
      own.valid += 1;
      return judged.stated;
    }
    own.notProved += 1;
    return undefined;
  }
}
