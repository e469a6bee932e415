// @ts-check
// Recomputes the record of a workflow: chain, Merkle root and closing record (W18). It loads nothing and shows nothing. Each fault is a sentence.

import { UnjudgedFault } from './der.js';
import { readImprint } from './evidence-imprint.js';
import { checkLink, createMerkleTree, sha256, verifyInclusion } from './hashes.js';
import { readClosingRecord } from './proof/closing-record.js';
import { hexOf, isSha256Hex, octetsOfSha256, signedTextOf } from './proof/octets.js';
import { chainStart } from './proof/output-chain.js';
import { t } from './words.js';

/**
 * The data of a workflow on the page. Times are RFC 3339. `evidenceUrl` is the URL of an evidence record; null for the mock provider, whose stamps
 * have none.
 *
 * @typedef {object} Shown
 * @property {string} workflowId
 * @property {string} status
 * @property {string} tier
 * @property {string} briefingHash
 * @property {string} startedAt
 * @property {string | null} confirmedAt
 * @property {string | null} completedAt
 * @property {number} total the number of outputs
 * @property {{ number: number, hash: string }[]} rows the outputs on this page
 * @property {string} outputsUrl
 * @property {{ hash: string, stampedAt: string, evidenceUrl: string | null } | null} root
 * @property {{ hash: string, stampedAt: string, evidenceUrl: string | null, url: string } | null} closingRecord
 */

/** @typedef {import('./proof/merkle-tree.js').MerkleTree} MerkleTree */

/** Recomputes the chain, starting from the briefing hash, and builds the tree. @param {string} briefingHash */
export function createChainCheck(briefingHash) {
  const tree = createMerkleTree();
  let end = chainStart(briefingHash);
  /** @type {string | undefined} */
  let fault;
  return {
    tree,
    get fault() {
      return fault;
    },
    /** The chain hash of the last output, or the briefing hash if there is none. */
    get end() {
      return end.chainHash;
    },
    /** Adds the next output. Does nothing after a fault. @param {import('./published-record.js').PublishedOutput} output */
    append(output) {
      if (fault) return;
      const link = { sequenceNumber: output.sequence_number, outputHash: output.output_hash, chainHash: output.chain_hash };
      const broken = checkLink(end, link);
      if (broken) fault = faultWords(broken);
      else {
        tree.append(octetsOfSha256(link.outputHash));
        end = link;
      }
    },
  };
}

/** @param {import('./proof/output-chain.js').ChainFault} broken */
const faultWords = ({ sequenceNumber, fault }) =>
  fault === 'number_out_of_order'
    ? t('File {number} is missing, or in the wrong place.', { number: sequenceNumber })
    : t('The chain breaks at file {number}: its hash, its number or the link before was changed.', { number: sequenceNumber });

/** @param {ReturnType<typeof createChainCheck>} chain @param {Shown} shown @returns {string[]} */
export function checkCount({ tree, fault }, { total, status }) {
  const isShort = status === 'completed' ? tree.treeSize !== total : tree.treeSize < total;
  return fault || !isShort
    ? []
    : [t('This page shows {total} files, but the published list has {published}.', { total, published: tree.treeSize })];
}

/**
 * Checks that each output on the page is the published output with the same number, and that a path leads from it to the root.
 *
 * @param {MerkleTree} tree
 * @param {Shown} shown
 */
export function checkRows(tree, { rows }) {
  const { treeSize } = tree;
  const head = { treeSize, rootHash: tree.rootAt(treeSize) };
  const isProved = (/** @type {number} */ number, /** @type {string} */ hash) =>
    isSha256Hex(hash) && number <= treeSize && verifyInclusion(octetsOfSha256(hash), tree.proveInclusion(number - 1, treeSize), head).ok;
  return rows
    .filter(({ number, hash }) => !isProved(number, hash))
    .map(({ number }) => t('File {number} on this page differs from the published list.', { number }));
}

/** @param {MerkleTree} tree @param {string} rootHash */
export const checkRoot = (tree, rootHash) =>
  hexOf(tree.rootAt(tree.treeSize)) === rootHash ? [] : [t('The Merkle root of the published list differs from the one on this page.')];

const members = { tier: t('tier'), created_at: t('start'), confirmed_at: t('confirmation of the address'), completed_at: t('completion') };

/** @param {string | null} a @param {string | null} b */
const isSameTime = (a, b) => a === b || (a !== null && b !== null && Date.parse(a) === Date.parse(b));

/**
 * Checks the closing record against its hash, its canonical form (RFC 8785), the page and the chain.
 *
 * @param {Uint8Array} octets
 * @param {Shown} shown
 * @param {ReturnType<typeof createChainCheck>} chain
 */
export function checkClosingRecord(octets, shown, chain) {
  if (hexOf(sha256(octets)) !== shown.closingRecord?.hash)
    return [t('The SHA-256 of the published closing record differs from the one on this page.')];
  const record = readClosingRecord(signedTextOf(octets));
  if (!record) return [t('The closing record is not in its canonical form.')];
  const isShown = {
    workflow_id: record.workflow_id === shown.workflowId,
    tier: record.tier === shown.tier,
    briefing_hash: record.briefing_hash === shown.briefingHash,
    created_at: isSameTime(record.created_at, shown.startedAt),
    confirmed_at: isSameTime(record.confirmed_at, shown.confirmedAt),
    completed_at: isSameTime(record.completed_at, shown.completedAt),
    output_count: record.output_count === shown.total,
    merkle_root: record.merkle_root === shown.root?.hash,
    chain_hash: chain.fault !== undefined || record.chain_hash === chain.end,
  };
  return Object.entries(isShown)
    .filter(([, isSameHere]) => !isSameHere)
    .map(([member]) =>
      t('The closing record has a different {member}.', {
        member: members[/** @type {keyof typeof members} */ (member)] ?? member.replaceAll('_', ' '),
      }),
    );
}

/**
 * Checks that the token in an evidence record is for a hash, and has the time that the page shows.
 *
 * @param {Uint8Array} evidence
 * @param {{ hash: string, stampedAt: string }} shown
 * @param {string} what `Merkle root` or `closing record`
 * @throws {UnjudgedFault} if the page cannot judge the token
 */
export function checkImprint(evidence, { hash, stampedAt }, what) {
  try {
    const { isFor, genTime } = readImprint(evidence, octetsOfSha256(hash));
    if (!isFor) return [t('The time-stamp of the {what} is for a different hash.', { what })];
    return isSameTime(genTime, stampedAt) ? [] : [t('The time-stamp of the {what} has a different time than this page.', { what })];
  } catch (error) {
    if (error instanceof UnjudgedFault) throw error;
    return [t('The time-stamp of the {what} cannot be read.', { what })];
  }
}
