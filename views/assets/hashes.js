// @ts-check
// SHA-2 for the browser, and the algorithms in `src/shared/proof`, which service, command and browser share. `crypto.subtle` is not enough: it needs HTTPS
// and the whole content at once.
import { sha256, sha384, sha512 } from './@noble/hashes/sha2.js';
import { createProofVerifier } from './proof/merkle-proof.js';
import { createMerkle } from './proof/merkle-tree.js';
import { createOutputChain } from './proof/output-chain.js';

export { sha256 };

/** Hash functions that take the content in parts, by their names in stamps. */
export const hashers = { sha256: () => sha256.create(), sha384: () => sha384.create(), sha512: () => sha512.create() };

const merkle = createMerkle(sha256);
export const { createMerkleTree } = merkle;
export const { verifyInclusion } = createProofVerifier(merkle);
export const { checkLink } = createOutputChain(sha256);
