import { hash } from 'node:crypto';
import { Binary, type Collection, type Db, UUID } from 'mongodb';
import { leafMarksOf, leafRecordOf, lowerPathOf, wholePathOf } from '../domain/evidence.ts';
import {
  type Batch,
  type Caller,
  digestCharacters,
  type Imprint,
  type MockProof,
  type Proof,
  type Stamp,
  type StampTier,
  sha256Imprint,
  type TokenProof,
  timeOfId,
} from '../domain/stamp.ts';
import { answerSpansOf } from '../domain/token.ts';
import type { BatchStore } from './batches.ts';
import type { CertificateSetStore } from './certificate-sets.ts';
import { bytesOf, inStore, insertNew, maxTimeMS } from './connection.ts';
import type { RenewalStore } from './renewals.ts';
import { evidenceOf, ownEvidenceOf, renewalIdsIn, type StoredEvidence, storedEvidenceOf } from './stored-evidence.ts';

/** Selects a page in the list of a product's stamps. `imprints`: only stamps of SHA-256 (the default), or all. */
interface ProductPage {
  readonly imprints?: 'sha256' | 'all' | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** A stored stamp, and whether this call has added it. */
export interface InsertedStamp {
  readonly stored: StoredStamp;
  readonly isNew: boolean;
}

export type StampStore = ReturnType<typeof createStampStore>;

/** Stores stamps. `batches`, `renewals` and `certificateSets` store the parts that several stamps share. */
export function createStampStore(
  db: Db,
  batches: Omit<BatchStore, 'insertOnce'>,
  renewals: RenewalStore,
  certificateSets: CertificateSetStore,
) {
  const stamps: Collection<StampDocument> = db.collection('stamps');
  const ofProduct = (product: string, imprints: ProductPage['imprints']) => ({
    'caller.product': imprints === 'all' ? { $in: [product, othersOf(product)] } : product,
  });

  async function stampsOf(documents: readonly StampDocument[]): Promise<StoredStamp[]> {
    const [shared, renewalTokens, sets] = await Promise.all([
      batches.findMany(documents.flatMap(batchIdsIn)),
      renewals.findTokens(documents.flatMap(({ evidence }) => renewalIdsIn(evidence))),
      certificateSets.findMany(documents.flatMap(certificateSetIdsIn)),
    ]);
    return documents.map((document) => stampOf(document, { batches: shared, renewalTokens, certificateSets: sets }));
  }

  async function summariesOf(documents: readonly StampDocument[]): Promise<StampSummary[]> {
    const claims = await batches.findClaims(documents.flatMap(batchIdsIn));
    return documents.map((document) => summaryOf(document, claims));
  }

  const findMany = async (tokenIds: readonly string[]): Promise<StoredStamp[]> =>
    stampsOf(await inStore(() => stamps.find({ _id: { $in: [...tokenIds] } }, { maxTimeMS }).toArray()));

  return {
    /** Writes the stamps that do not exist yet, and returns the stored stamps in the given order. An existing stamp is never changed. */
    insertOnce: (given: readonly StoredStamp[]): Promise<InsertedStamp[]> =>
      inStore(async () => {
        const sets = new Map<string, Buffer>();
        const documents = given.map((stamp) => stampDocumentOf(stamp, sets));
        await certificateSets.insertOnce(sets);
        const duplicates = new Set(await insertNew(db, stamps, documents));
        const taken =
          duplicates.size === 0 ? [] : await findMany(given.flatMap(({ tokenId }, index) => (duplicates.has(index) ? tokenId : [])));
        const takenById = new Map(taken.map((stamp) => [stamp.tokenId, stamp]));
        return given.map((stamp, index) => ({ stored: takenById.get(stamp.tokenId) ?? stamp, isNew: !duplicates.has(index) }));
      }),
    find: async (tokenId: string): Promise<StoredStamp | null> => (await findMany([tokenId]))[0] ?? null,
    findMany,
    /** Finds the id of the stamp with this RFC 3161 token or evidence record (base64). Resolves to null if there is none. */
    findIdByToken: async (token: string): Promise<string | null> => {
      const leaf = leafMarksOf(Buffer.from(token, 'base64'));
      if (!leaf) {
        const found = await inStore(() => stamps.findOne({ tokenDigest: textDigestOf(token) }, { projection: { _id: 1 }, maxTimeMS }));
        return found?._id ?? null;
      }
      // It is not enough to find the stamp of the leaf: its evidence record must have exactly these octets (V2).
      const candidates = await findMany(await batches.findLeaves(leaf));
      return candidates.find(({ proofs }) => proofs.some((proof) => proof.token === token))?.tokenId ?? null;
    },
    /** Lists a product's stamps, newest first. */
    listByProduct: (product: string, { imprints, offset, limit }: ProductPage): Promise<StampSummary[]> =>
      inStore(async () => {
        const options = { projection: summaryFields, maxTimeMS };
        return summariesOf(await stamps.find(ofProduct(product, imprints), options).sort({ _id: -1 }).skip(offset).limit(limit).toArray());
      }),
    /** Counts a product's stamps. The result is at most `limit`. */
    countByProduct: (product: string, imprints: ProductPage['imprints'], limit: number) =>
      inStore(() => stamps.countDocuments(ofProduct(product, imprints), { limit, maxTimeMS })),
  };
}

/** Refers to the sealed content of a stamp. The secret in the content's address is stored only as a hash (S11). */
interface SealedRef {
  readonly contentId: string;
  readonly secretSha256: string;
  readonly bytes: number;
}

/** A stamp with the other data of its request. */
export interface StoredStamp extends Stamp {
  readonly tier: StampTier;
  readonly caller: Caller;
  readonly acceptedAt: Date;
  readonly requestId: string;
  /** JSON, encrypted with a key for this stamp (`deriveKey`, from the key `stamp-metadata`). */
  readonly metadata?: string | undefined;
  readonly paymentClaim?: string | undefined;
  readonly sealed?: SealedRef | undefined;
  /** Another form of the token that a client was sent, base64. Only its digest is stored, so that the stamp is also found by this form. */
  readonly tokenAsSent?: string | undefined;
}

const othersMark = ':other-imprints';

/** The name for those stamps of a product whose imprint is not a SHA-256. A product's own name never contains a colon. */
export const othersOf = (product: string): string => `${product}${othersMark}`;

/**
 * The name under which a product's stamp is stored and counted, or undefined for other callers. Stamps with an imprint other than SHA-256 get
 * another name: the product's list leaves them out (S12), and with this name their number does not slow the list down.
 */
export const storedProductOf = ({ product }: Caller, { algorithm }: Imprint): string | undefined =>
  product === undefined || algorithm === 'sha256' ? product : othersOf(product);

const storedCallerOf = (caller: Caller, imprint: Imprint): Caller => ({ ...caller, product: storedProductOf(caller, imprint) });

/** Reads a stored caller. From a damaged document, it returns the parts that exist. */
const callerOf = (stored: Caller): Caller => {
  const product: unknown = stored?.product;
  const isOther = typeof product === 'string' && product.endsWith(othersMark);
  return isOther ? { ...stored, product: product.slice(0, -othersMark.length) } : stored;
};

/** A stamp as stored. `_id` is the stamp's id: a UUID version 7, so stamps sort by time (S7). */
interface StampDocument extends Omit<StoredStamp, 'tokenId' | 'imprint' | 'proofs' | 'tokenAsSent'> {
  readonly _id: string;
  /** For a leaf, the digest is stored as bytes, to keep the document small. */
  readonly imprint: Imprint | (Omit<Imprint, 'digest'> & { readonly digest: Binary });
  readonly proofs: readonly [StoredProof, ...StoredProof[]];
  /**
   * SHA-256 of each RFC 3161 `token`, hex. It is used to find the stamp of a token that a client sends. Mock tokens contain the id of their stamp,
   * and leaves are found through their batch.
   */
  readonly tokenDigest?: string | readonly string[] | undefined;
  /** The evidence of the first proof, if this proof is the stamp's own token, or a leaf with its own evidence. */
  readonly evidence?: StoredEvidence | undefined;
}

/** The shared parts that documents refer to by id: batches, certificates, and tokens of renewals (DER). */
interface SharedProofs extends SharedParts {
  readonly renewalTokens: ReadonlyMap<string, Buffer>;
}

/** The proofs in a document, which may be damaged. */
const proofsIn = ({ proofs }: StampDocument): readonly unknown[] => (Array.isArray(proofs) ? proofs : []);

/** The ids of the batches that a document refers to. */
const batchIdsIn = (document: StampDocument): string[] => proofsIn(document).flatMap((proof) => batchIdIn(proof) ?? []);

/** The ids of the certificate sets that a document refers to. */
const certificateSetIdsIn = (document: StampDocument): string[] => proofsIn(document).flatMap((proof) => certificateSetIdIn(proof) ?? []);

/** Reads a stored imprint. If it is missing or damaged, the result has an empty digest, which no token matches. */
function imprintIn(stored: unknown): Imprint {
  const { algorithm, digest: written } = (stored ?? {}) as Partial<StampDocument['imprint']>;
  const digest = written instanceof Binary ? bytesOf(written).toString('hex') : written;
  const isImprint = typeof digest === 'string' && algorithm !== undefined && Object.hasOwn(digestCharacters, algorithm);
  return isImprint ? { algorithm, digest } : sha256Imprint('');
}

/** Makes the document of a stamp. @param sets the certificates to store separately are added here, by id */
function stampDocumentOf(
  { tokenId, imprint, proofs: [first, ...others], tokenAsSent, ...rest }: StoredStamp,
  sets: Map<string, Buffer>,
): StampDocument {
  const digests: string[] = [];
  const proofs: [StoredProof, ...StoredProof[]] = [storedProofOf(first, sets)];
  for (const proof of others) proofs.push(storedProofOf(proof, sets));
  for (const proof of [first, ...others]) if (proof.kind === 'token') digests.push(textDigestOf(proof.token));
  if (tokenAsSent !== undefined) digests.push(textDigestOf(tokenAsSent));
  const { algorithm, digest } = imprint;
  return {
    _id: tokenId,
    ...rest,
    caller: storedCallerOf(rest.caller, imprint),
    imprint: first.kind === 'leaf' ? { algorithm, digest: new Binary(Buffer.from(digest, 'hex')) } : imprint,
    ...(first.kind === 'token' && storedEvidenceOf(first.term)),
    proofs,
    tokenDigest: digests.length > 1 ? digests : digests[0],
  };
}

/** The parts of a stamp that a list shows. They do not include the bytes of its proofs. */
interface StampSummary {
  readonly tokenId: string;
  readonly imprint: Imprint;
  readonly tier: StampTier;
  readonly caller: Caller;
  readonly issuedAt: string;
  readonly provider: string;
  readonly isQualified: boolean;
}

const summaryFields = {
  tier: 1,
  caller: 1,
  imprint: 1,
  'proofs.kind': 1,
  'proofs.batch': 1,
  'proofs.issuedAt': 1,
  'proofs.provider': 1,
  'proofs.isQualified': 1,
} as const;

/** Makes the summary of a stamp. @param batches the shared fields of the batches that the document may refer to, by id */
export function summaryOf(document: StampDocument, batches: ReadonlyMap<string, Found>): StampSummary {
  const { _id: tokenId, tier, caller, imprint, proofs } = document;
  const { issuedAt, provider, isQualified }: Found = { ...proofs?.[0], ...batches.get(batchIdsIn(document)[0] ?? '') };
  return {
    tokenId,
    imprint: imprintIn(imprint),
    tier,
    caller: callerOf(caller),
    issuedAt: typeof issuedAt === 'string' ? issuedAt : new Date(timeOfId(tokenId) || 0).toISOString(),
    provider: typeof provider === 'string' ? provider : '',
    isQualified: isQualified === true,
  };
}

/** Reads a stamp from its document. If the document is damaged, or its batch is damaged or missing, the stamp proves nothing (V1). */
export function stampOf(
  { _id: tokenId, imprint: stored, proofs, evidence, tokenDigest: _, ...rest }: StampDocument,
  { renewalTokens, ...shared }: SharedProofs,
): StoredStamp {
  const imprint = imprintIn(stored);
  const [first, ...others] = proofsOf(proofs, imprint, shared);
  return { tokenId, ...rest, caller: callerOf(rest.caller), imprint, proofs: [withEvidence(first), ...others] };

  function withEvidence(proof: Proof): Proof {
    if (proof.kind === 'token') return { ...proof, ...evidenceOf(evidence, renewalTokens, imprint.algorithm) };
    const own = proof.kind === 'leaf' ? ownEvidenceOf(evidence, renewalTokens, imprint.algorithm) : undefined;
    return own === undefined ? proof : ({ ...proof, own } as Proof);
  }
}

type StoredTokenProof = Omit<TokenProof, 'qualification' | 'token' | 'tsq' | 'tsr' | 'term' | 'renewals'> & StoredAnswer;
type StoredMockProof = Omit<MockProof, 'qualification'>;

/**
 * The part of a leaf in the stamp's document; the other parts are in the document of its batch. `path`: the blind, then the siblings up to the
 * stored upper levels (the crown, see `crownOf`).
 */
interface StoredLeafProof {
  readonly kind: 'leaf';
  readonly batch: UUID;
  readonly index: number;
  readonly path: Binary;
}

type StoredProof = StoredMockProof | StoredTokenProof | StoredLeafProof;

/** The digest by which the stamp of a token is found: that of the text, which is not decoded. */
const textDigestOf = (token: string): string => hash('sha256', token, 'hex');

/** Makes the stored form of a proof. @param sets the certificates to store separately are added here, by id */
function storedProofOf(proof: Proof, sets: Map<string, Buffer>): StoredProof {
  switch (proof.kind) {
    case 'mock': {
      const { qualification: _, ...rest } = proof;
      return rest;
    }
    case 'token': {
      const { qualification: _, term: __, renewals: ___, token, tsq, tsr, ...rest } = proof;
      return { ...rest, ...storedAnswerOf({ token, tsq, tsr }, sets) };
    }
    case 'leaf': {
      const { kind, batch, index, path } = proof;
      const { batchId, leaves } = batch;
      return { kind, batch: new UUID(batchId), index, path: new Binary(lowerPathOf({ index, leaves }, path)) };
    }
  }
}

/** The proof of a stamp whose stored proof cannot be read. It has no token, so it proves nothing (V1). */
const noProof: MockProof = { kind: 'mock', provider: '', isQualified: false, issuedAt: '', token: '' };

/** The batches of stamps, by id. */
type Batches = ReadonlyMap<string, Batch>;

/** The shared parts of proofs, by id. */
interface SharedParts {
  readonly batches: Batches;
  readonly certificateSets: ReadonlyMap<string, Buffer>;
}

/** Returns the id of the batch in a stored proof, or undefined if the proof is not a leaf. */
function batchIdIn(proof: unknown): string | undefined {
  const { kind, batch } = (proof ?? {}) as Found;
  return kind === 'leaf' && batch instanceof Binary && UUID.isValid(batch) ? new UUID(batch.buffer).toHexString() : undefined;
}

function leafOf(stored: Found, imprint: Imprint, batches: Batches): Proof {
  const batch = batches.get(batchIdIn(stored) ?? '');
  const { index, path: lower } = stored;
  if (!batch || typeof index !== 'number' || !(lower instanceof Binary)) return noProof;
  const { leaves, crown, provider, isQualified, issuedAt } = batch;
  const path = wholePathOf({ index, leaves }, bytesOf(lower), crown, digestCharacters[imprint.algorithm] / 2);
  if (!path) return noProof;
  const token = leafRecordOf(imprint, batch, path).toString('base64');
  return { kind: 'leaf', provider, isQualified, issuedAt, token, batch, index, path };
}

function proofOf(stored: Found | null, imprint: Imprint, { batches, certificateSets }: SharedParts): Proof {
  const { kind, provider, issuedAt, token, isQualified } = stored ?? {};
  if (stored && kind === 'leaf') return leafOf(stored, imprint, batches);
  if (!stored || typeof provider !== 'string' || typeof issuedAt !== 'string') return noProof;
  const claims = { provider, isQualified: isQualified === true, issuedAt };
  if (kind === 'mock') return typeof token === 'string' ? { kind, ...claims, token } : noProof;
  const answer = answerIn(stored, certificateSets);
  return answer ? { kind: 'token', ...claims, ...answer } : noProof;
}

/** Reads stored proofs. A proof that cannot be read becomes `noProof`. */
export function proofsOf(stored: unknown, imprint: Imprint, shared: SharedParts): readonly [Proof, ...Proof[]] {
  const [first = noProof, ...others] = Array.isArray(stored) ? stored.map((proof) => proofOf(proof, imprint, shared)) : [];
  return [first, ...others];
}

/**
 * The stored form of a TSA's answer. The certificates are the largest part, and the same in all answers of a TSA. So they are cut out and stored
 * once (`certificate_sets`). The token is part of the answer, so it is not stored a second time.
 */
interface StoredAnswer {
  readonly tsq: Binary;
  /** The TimeStampResp. If `certificates` is present, its certificates are cut out. */
  readonly tsr: Binary;
  /** Where the token starts in the whole answer; it goes up to the end. Absent: the token is stored in `token`. */
  readonly tokenAt?: number;
  /** The token as base64, if it is not the end of the answer. */
  readonly token?: string;
  /** `set`: the id of the certificates that were cut out. `at`: their position in the answer. */
  readonly certificates?: { readonly set: string; readonly at: number };
}

/** Makes the stored form of an answer. @param sets the certificates that are cut out are added here, by id */
function storedAnswerOf({ token, tsq, tsr }: Pick<TokenProof, 'token' | 'tsq' | 'tsr'>, sets: Map<string, Buffer>): StoredAnswer {
  const spans = answerSpansOf(tsr);
  const asked = { tsq: new Binary(tsq) };
  if (!spans || tsr.toString('base64', spans.token.start) !== token) return { ...asked, tsr: new Binary(tsr), token };
  const tokenAt = spans.token.start;
  if (!spans.certificates) return { ...asked, tsr: new Binary(tsr), tokenAt };
  const { start, end } = spans.certificates;
  const der = tsr.subarray(start, end);
  const set = hash('sha256', der, 'hex');
  sets.set(set, der);
  const rest = Buffer.concat([tsr.subarray(0, start), tsr.subarray(end)]);
  return { ...asked, tsr: new Binary(rest), tokenAt, certificates: { set, at: start } };
}

/** An object from the database whose members have not been checked yet. */
type Found = Readonly<Record<string, unknown>>;

/** Reads which certificates were cut out of a stored answer, and where. Returns undefined if the stored data does not say it. */
const setIn = (found: Found): { set: string; at: number } | undefined => {
  const { set, at } = (found.certificates ?? {}) as Found;
  return typeof set === 'string' && typeof at === 'number' ? { set, at } : undefined;
};

/** Returns the id of the certificates that a stored proof refers to, or undefined if there are none. */
const certificateSetIdIn = (proof: unknown): string | undefined => setIn((proof ?? {}) as Found)?.set;

/** Restores the exact octets of an answer. Returns undefined if this is not possible. */
function answerIn(found: Found, sets: ReadonlyMap<string, Buffer>): Pick<TokenProof, 'token' | 'tsq' | 'tsr'> | undefined {
  const { tsq, tsr, tokenAt } = found;
  if (!(tsq instanceof Binary && tsr instanceof Binary)) return undefined;
  const cut = setIn(found);
  const rest = bytesOf(tsr);
  const set = cut && sets.get(cut.set);
  if (found.certificates !== undefined && !set) return undefined;
  const whole = cut && set ? Buffer.concat([rest.subarray(0, cut.at), set, rest.subarray(cut.at)]) : rest;
  const token = typeof tokenAt === 'number' ? whole.toString('base64', tokenAt) : found.token;
  return typeof token === 'string' ? { token, tsq: bytesOf(tsq), tsr: whole } : undefined;
}
