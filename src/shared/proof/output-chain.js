// @ts-check
// The chain of a workflow's outputs (W8). The chain hash of a link is the SHA-256 of 72 octets:
//
//     previous chain hash 32 ‖ output hash 32 ‖ sequence number 8 (unsigned, big-endian)
//
// For the first link, the briefing hash takes the place of the previous chain hash. Functions take and return hashes as lower-case hex.
import { hexOf, isSha256Hex, octetsOfSha256 } from './octets.js';

/**
 * The current end of a chain.
 *
 * @typedef {object} ChainEnd
 * @property {number} sequenceNumber 0 before the first output
 * @property {string} chainHash
 */

/** An output with its link in the chain. @typedef {ChainEnd & { outputHash: string }} ChainLink */

/**
 * Where and why a chain breaks.
 *
 * @typedef {object} ChainFault
 * @property {number} sequenceNumber the number that the link at this place should have
 * @property {'number_out_of_order' | 'chain_hash_mismatch'} fault
 */

/** Returns the end of a chain that has no outputs yet. @param {string} briefingHash @returns {ChainEnd} */
export const chainStart = (briefingHash) => ({ sequenceNumber: 0, chainHash: briefingHash });

/** @param {import('./octets.js').HashFunction} sha256 */
export function createOutputChain(sha256) {
  const link = new Uint8Array(72);
  const numbers = new DataView(link.buffer);

  /**
   * Appends an output, and returns the new end of the chain.
   *
   * @param {ChainEnd} end
   * @param {string} outputHash
   * @returns {ChainEnd}
   * @throws {RangeError} if a hash does not have 64 hexadecimal characters
   */
  function extendChain(end, outputHash) {
    const sequenceNumber = end.sequenceNumber + 1;
    link.set(octetsOfSha256(end.chainHash));
    link.set(octetsOfSha256(outputHash), 32);
    numbers.setBigUint64(64, BigInt(sequenceNumber));
    return { sequenceNumber, chainHash: hexOf(sha256(link)) };
  }

  /**
   * Checks that `link` follows `end`. Returns the fault, if there is one. So callers can check a chain of any length in constant memory.
   *
   * @param {ChainEnd} end
   * @param {ChainLink} link
   * @returns {ChainFault | undefined}
   */
  function checkLink(end, link) {
    const sequenceNumber = end.sequenceNumber + 1;
    if (link.sequenceNumber !== sequenceNumber) return { sequenceNumber, fault: 'number_out_of_order' };
    const isLinkable = isSha256Hex(end.chainHash) && isSha256Hex(link.outputHash);
    return isLinkable && link.chainHash === extendChain(end, link.outputHash).chainHash
      ? undefined
      : { sequenceNumber, fault: 'chain_hash_mismatch' };
  }

  return { extendChain, checkLink };
}
