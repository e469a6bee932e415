import { hash } from 'node:crypto';
import { createProofVerifier } from '../proof/merkle-proof.js';
import { createMerkle } from '../proof/merkle-tree.js';
import { createOutputChain } from '../proof/output-chain.js';

/** This module provides the algorithms of `shared/proof` with SHA-256 from `node:crypto`. */

export const sha256 = (octets: Uint8Array): Buffer => hash('sha256', octets, 'buffer');

/** The hash of a closing record that is stamped: SHA-256 of its canonical text in UTF-8, lower-case hex. */
export const hashOfClosingText = (text: string): string => hash('sha256', text, 'hex');

const merkle = createMerkle(sha256);
export const { createTreeHeadBuilder, createMerkleTree } = merkle;
export const { verifyInclusion, verifyConsistency } = createProofVerifier(merkle);
export const { extendChain, checkLink } = createOutputChain(sha256);
