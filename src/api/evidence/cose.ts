import { createPrivateKey, createPublicKey, hash, hkdfSync, type KeyObject, sign } from 'node:crypto';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { InclusionProof } from '../../shared/proof/merkle-tree.js';
import { octetsOfSha256 } from '../../shared/proof/octets.js';
import type { Store } from '../../shared/store/store.ts';
import { proveSealedChain, type WorkflowTools } from '../workflows/index.ts';
import { existing } from './stamp-evidence.ts';

// A COSE receipt (RFC 9942) is a proof about a Merkle tree. The service keeps the tree and signs its root.

/** Label of a time-stamp token over the payload, in the protected header (RFC 9921 §3.2). */
const timestampThenCose = 269;
/** Label of receipts, in the unprotected header (RFC 9942 §2). */
const receipts = 394;

/**
 * A stamp as the two headers of a COSE message over the stamped content, `[protected, unprotected]` (W23, RFC 9052 §3). The signer of the content
 * copies them into its message.
 *
 * @throws ServiceError `not_found` for an unknown id, and if both headers would be empty; everything that `proveSealedChain` throws
 */
export async function coseHeadersOf(tools: WorkflowTools, tokenId: string): Promise<Buffer> {
  const [proof] = existing(await tools.store.stamps.find(tokenId)).proofs;
  // RFC 9921 has a header for a token over the content, but none for the record of a batch.
  const token = proof.kind === 'token' && proof.token !== '' ? Buffer.from(proof.token, 'base64') : undefined;
  const receipt = await receiptOf(tools, tokenId);
  if (!token && !receipt)
    throw new ServiceError(
      'not_found',
      'This stamp has no time-stamp token over its content, and is not an output of a completed workflow.',
    );
  const protectedHeader = encodeCbor(new Map(token && [[timestampThenCose, token]]));
  return encodeCbor([protectedHeader, new Map(receipt && [[receipts, [receipt]]])]);
}

/** The public key for receipts, in PEM. @throws ServiceError `store_unavailable` */
export const readPublicKey = async (store: Store): Promise<string> => (await readReceiptKey(store)).publicPem;

const readReceiptKey = async ({ keys }: Store): Promise<ReceiptKey> => receiptKeyOf(await keys.secret('cose-receipts'));

/**
 * The receipt of a stamp. Undefined if the stamp is not an output of a completed workflow, or if the tree has only one leaf: RFC 9942 §5.2 needs a
 * path with at least one hash.
 */
async function receiptOf(tools: WorkflowTools, tokenId: string): Promise<Buffer | undefined> {
  const { store } = tools;
  const [output] = await store.outputs.findByTokens([tokenId]);
  const workflow = output && (await store.workflows.find(output.workflowId));
  if (!output || workflow?.status !== 'completed') return undefined;
  const { chain } = await proveSealedChain(tools, workflow);
  const { sequenceNumber: treeSize } = chain.end;
  if (treeSize < 2 || chain.linkAt(output.sequenceNumber)?.outputHash !== output.hash) return undefined;
  const proof = chain.tree.proveInclusion(output.sequenceNumber - 1, treeSize);
  return encodeReceipt(await readReceiptKey(store), proof, octetsOfSha256(chain.rootHash));
}

/** The bytes before the seed of an Ed25519 key in PKCS #8 (RFC 8410 §7). */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

type ReceiptKey = ReturnType<typeof receiptKeyOf>;

/**
 * Derives the key from a secret of the service, so every process has the same key, and the database alone is not enough to get it. `kid`: SHA-256 of
 * the public key's SubjectPublicKeyInfo.
 */
export function receiptKeyOf(secret: KeyObject) {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', 'qstamp COSE receipts v1, Ed25519', 32));
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey);
  const kid = hash('sha256', publicKey.export({ format: 'der', type: 'spki' }), 'buffer');
  return { privateKey, kid, publicPem: publicKey.export({ format: 'pem', type: 'spki' }).toString() };
}

/** Header labels of RFC 9052 and RFC 9942. The constants below are values from the same registries. */
const label = { alg: 1, kid: 4, verifiableDataStructure: 395, verifiableDataProofs: 396 } as const;
const eddsa = -8;
const rfc9162Sha256 = 1;
const inclusionProofs = -1;
const sign1Tag = 18;

/** Makes a receipt of inclusion (RFC 9942 §5.2): a COSE_Sign1 whose payload, the root, is detached. */
export function encodeReceipt({ privateKey, kid }: ReceiptKey, proof: InclusionProof, root: Uint8Array): Buffer {
  const protectedHeader = encodeCbor(
    new Map<number, Cbor>([
      [label.alg, eddsa],
      [label.kid, kid],
      [label.verifiableDataStructure, rfc9162Sha256],
    ]),
  );
  // The Sig_structure of RFC 9052 §4.4.
  const signed = encodeCbor(['Signature1', protectedHeader, Buffer.alloc(0), root]);
  const inclusion = encodeCbor([proof.treeSize, proof.leafIndex, proof.inclusionPath]);
  const unprotected = new Map([[label.verifiableDataProofs, new Map([[inclusionProofs, [inclusion]]])]]);
  return Buffer.concat([head(major.tag, sign1Tag), encodeCbor([protectedHeader, unprotected, null, sign(null, signed, privateKey)])]);
}

/** A value of deterministic CBOR (RFC 8949 §4.2.1), as COSE needs it. The caller must sort the members of a map by their encoded labels. */
export type Cbor = number | string | Uint8Array | null | readonly Cbor[] | ReadonlyMap<number, Cbor>;

/** Major types of RFC 8949 §3.1. */
const major = { unsigned: 0, negative: 1, bytes: 2, text: 3, array: 4, map: 5, tag: 6 } as const;

/** Encodes a value. @throws RangeError if a number is not a safe integer */
export function encodeCbor(value: Cbor): Buffer {
  if (value === null) return Buffer.from([0xf6]);
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new RangeError('not a safe integer');
    return value < 0 ? head(major.negative, -1 - value) : head(major.unsigned, value);
  }
  if (typeof value === 'string') return Buffer.concat([head(major.text, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(major.bytes, value.length), value]);
  if (value instanceof Map) return Buffer.concat([head(major.map, value.size), ...[...value].flat().map(encodeCbor)]);
  const items = value as readonly Cbor[];
  return Buffer.concat([head(major.array, items.length), ...items.map(encodeCbor)]);
}

function head(type: number, argument: number): Buffer {
  if (argument < 24) return Buffer.from([(type << 5) | argument]);
  const width = argument < 2 ** 8 ? 1 : argument < 2 ** 16 ? 2 : argument < 2 ** 32 ? 4 : 8;
  const encoded = Buffer.alloc(1 + width);
  encoded[0] = (type << 5) | (24 + Math.log2(width));
  if (width === 8) encoded.writeBigUInt64BE(BigInt(argument), 1);
  else encoded.writeUIntBE(argument, 1, width);
  return encoded;
}
