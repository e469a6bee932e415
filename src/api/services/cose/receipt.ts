import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign } from 'node:crypto';
import type { InclusionProof } from '../../../shared/domain/merkle-proof.ts';
import { CborMap, encodeArrayOf, encodeCbor, encodeTagged, encodeText } from './cbor.ts';

/** COSE receipts (RFC 9942): a proof about a Merkle tree, its root signed by whoever keeps the tree. */

/** Header labels and values of the registries of RFC 9052 and RFC 9942. */
const label = { alg: 1, kid: 4, verifiableDataStructure: 395, verifiableDataProofs: 396 } as const;
const eddsa = -8;
const rfc9162Sha256 = 1;
const inclusionProofs = -1;
const sign1Tag = 18;

/** Octets before the seed of an Ed25519 key in PKCS #8 (RFC 8410 §7). */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The key that receipts are signed with. */
export interface ReceiptKey {
  readonly privateKey: KeyObject;
  /** SHA-256 of the public key's SubjectPublicKeyInfo. */
  readonly kid: Buffer;
  /** PEM of the public key. */
  readonly publicPem: string;
}

/** The same for the same secret of the service: every process has it, and the database alone does not. */
export function receiptKeyOf(secret: KeyObject): ReceiptKey {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', 'qstamp COSE receipts v1, Ed25519', 32));
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey);
  const kid = createHash('sha256')
    .update(publicKey.export({ format: 'der', type: 'spki' }))
    .digest();
  return { privateKey, kid, publicPem: publicKey.export({ format: 'pem', type: 'spki' }).toString() };
}

/** A receipt of inclusion (RFC 9942 §5.2): COSE_Sign1, its payload, the root, detached. */
export function encodeReceipt({ privateKey, kid }: ReceiptKey, proof: InclusionProof, root: Uint8Array): Buffer {
  const protectedHeader = encodeCbor(new CborMap([label.alg, eddsa], [label.kid, kid], [label.verifiableDataStructure, rfc9162Sha256]));
  // RFC 9052 §4.4
  const signed = encodeArrayOf([encodeText('Signature1'), encodeCbor(protectedHeader), encodeCbor(Buffer.alloc(0)), encodeCbor(root)]);
  const inclusion = encodeCbor([proof.treeSize, proof.leafIndex, proof.inclusionPath]);
  const unprotected = new CborMap([label.verifiableDataProofs, new CborMap([inclusionProofs, [inclusion]])]);
  return encodeTagged(sign1Tag, encodeCbor([protectedHeader, unprotected, null, sign(null, signed, privateKey)]));
}
