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

/** The number of octets in a salt. Nobody can guess so many. */
export const saltBytes = 32;

/** The salts of a workflow's commitments (W18), lower-case hex. With a salt, anyone can check a hidden value; without it, nobody can. */
export interface CommitmentSalts {
  readonly email: string;
  readonly agent: string;
}

const commit = (salt: string, value: string): string =>
  hash('sha256', Buffer.concat([Buffer.from(salt, 'hex'), Buffer.from(value)]), 'hex');

/** Makes the commitments that replace personal data in a closing record: SHA-256 of the salt's octets and the value in UTF-8, lower-case hex. */
export const commitmentsOf = (salts: CommitmentSalts, values: { readonly email: string; readonly agentId: string }) => ({
  email: commit(salts.email, values.email),
  agent: commit(salts.agent, values.agentId),
});
