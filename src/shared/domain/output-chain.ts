import { hash } from 'node:crypto';
import { bytesOfSha256, isSha256Hex } from './sha256-hex.ts';

/**
 * The chain of a workflow's outputs (W8). Each link is 72 bytes hashed with SHA-256:
 *
 *     previous chain hash 32 ‖ output hash 32 ‖ sequence number 8 (unsigned, big-endian)
 *
 * The first link's previous hash is the briefing hash. Hashes are lower-case hex outside, raw bytes inside.
 */
export interface ChainEnd {
  /** 0 before the first output. */
  readonly sequenceNumber: number;
  readonly chainHash: string;
}

/** An output as it is linked in. */
export interface ChainLink extends ChainEnd {
  readonly outputHash: string;
}

const linkBytes = 72;

/** The end of a chain that holds no output yet. */
export const chainStart = (briefingHash: string): ChainEnd => ({ sequenceNumber: 0, chainHash: briefingHash });

/**
 * The end of the chain once an output is appended.
 *
 * @throws RangeError a hash that is not 64 hexadecimal characters
 */
export function extendChain(end: ChainEnd, outputHash: string): ChainEnd {
  const sequenceNumber = end.sequenceNumber + 1;
  const link = Buffer.alloc(linkBytes);
  bytesOfSha256(end.chainHash).copy(link);
  bytesOfSha256(outputHash).copy(link, 32);
  link.writeBigUInt64BE(BigInt(sequenceNumber), 64);
  return { sequenceNumber, chainHash: hash('sha256', link, 'hex') };
}

export interface ChainFault {
  /** The number that was due where the chain breaks. */
  readonly sequenceNumber: number;
  readonly fault: 'number_out_of_order' | 'chain_hash_mismatch';
}

/** Whether `link` is what follows `end`; to walk a chain of any length in constant memory. */
export function checkLink(end: ChainEnd, link: ChainLink): ChainFault | undefined {
  const sequenceNumber = end.sequenceNumber + 1;
  if (link.sequenceNumber !== sequenceNumber) return { sequenceNumber, fault: 'number_out_of_order' };
  const isLinkable = isSha256Hex(end.chainHash) && isSha256Hex(link.outputHash);
  return isLinkable && link.chainHash === extendChain(end, link.outputHash).chainHash
    ? undefined
    : { sequenceNumber, fault: 'chain_hash_mismatch' };
}
