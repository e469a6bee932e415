// @ts-check
// The chain of a workflow's outputs (W8). Each link is 72 octets hashed with SHA-256:
//
//     previous chain hash 32 ‖ output hash 32 ‖ sequence number 8 (unsigned, big-endian)
//
// The first link's previous hash is the briefing hash. Hashes are lower-case hex outside, raw octets inside.
import { hexOf, isSha256Hex, octetsOfSha256 } from './octets.js';

/**
 * @typedef {object} ChainEnd
 * @property {number} sequenceNumber 0 before the first output
 * @property {string} chainHash
 */

/** A linked output. @typedef {ChainEnd & { outputHash: string }} ChainLink */

/**
 * @typedef {object} ChainFault
 * @property {number} sequenceNumber the expected number at the break
 * @property {'number_out_of_order' | 'chain_hash_mismatch'} fault
 */

/** The end of a chain without outputs. @param {string} briefingHash @returns {ChainEnd} */
export const chainStart = (briefingHash) => ({ sequenceNumber: 0, chainHash: briefingHash });

/** @param {import('./octets.js').HashFunction} sha256 */
export function createOutputChain(sha256) {
  const link = new Uint8Array(72);
  const numbers = new DataView(link.buffer);

  /**
   * The end of the chain after an output is appended.
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
   * Checks that `link` follows `end`. Callers can check a chain of any length in constant memory.
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
