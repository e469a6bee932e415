// @ts-check
// SHA-2 in the browser, and the algorithms of the service, command and browser (`src/shared/proof`) with it. `crypto.subtle` wants the whole of what is
// hashed at once, and HTTPS.
import { sha256, sha384, sha512 } from './@noble/hashes/sha2.js';
import { createProofVerifier } from './proof/merkle-proof.js';
import { createMerkle } from './proof/merkle-tree.js';
import { createOutputChain } from './proof/output-chain.js';

export { sha256 };

/** Hashes that take octets piece by piece, by the names that stamps give them. */
export const hashers = { sha256: () => sha256.create(), sha384: () => sha384.create(), sha512: () => sha512.create() };

const merkle = createMerkle(sha256);
export const { createMerkleTree } = merkle;
export const { verifyInclusion } = createProofVerifier(merkle);
export const { checkLink } = createOutputChain(sha256);
