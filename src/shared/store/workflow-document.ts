import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { Binary } from 'mongodb';
import type { CommitmentSalts } from '../domain/commitment.ts';
import { decryptText, encryptText, keyBytes, nonceBytes, unwrapKey, wrapKey } from '../domain/encryption.ts';
import { redactedEmail } from '../domain/mask-email.ts';
import type { WorkflowTier } from '../domain/tiers.ts';
import type { StoredWorkflowStatus } from '../domain/workflow-state.ts';

/** What is kept of a challenge: never the challenge (W6). */
export interface StoredChallenge {
  readonly digest: string;
  readonly expiresAt: Date;
  readonly wrongTries: number;
  readonly usedAt?: Date;
}

/** What a client of ours says of a person, in words of its own. */
interface PersonalWords {
  /** `[REDACTED]` once it was redacted. */
  readonly email: string;
  /** `[REDACTED]` once it was redacted. */
  readonly agentId: string;
  /** JSON: names in it are no field names of ours. */
  readonly briefingMetadata?: string | undefined;
  /** Where webhooks tell of the workflow (N4); it may hold a secret. */
  readonly callbackUrl?: string | undefined;
  /** Which product asked for them; earlier versions did not record it. */
  readonly callbackProduct?: string | undefined;
}

/** What a closed chain comes to. */
export interface ChainSum {
  /** Merkle root (W9), lower-case hex. */
  readonly hash: string;
  readonly outputCount: number;
  /** Of the last output, or the briefing hash. */
  readonly chainHash?: string;
}

export interface StoredClosingRecord {
  /** Canonical JSON. */
  readonly text: string;
  /** The id that its stamp has, or is to have. */
  readonly tokenId: string;
}

interface WorkflowFields {
  readonly _id: string;
  readonly tokenSha256: string;
  readonly briefingHash: string;
  readonly tier: WorkflowTier;
  readonly status: StoredWorkflowStatus;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly emailVerifiedAt?: Date;
  readonly redactedAt?: Date;
  /** The challenge that counts; its mail is made from this id. Absent in workflows that version 0.2.0 started. */
  readonly challengeId?: string;
  readonly challenge?: StoredChallenge;
  /** Digests of the challenges that newer ones have replaced. */
  readonly formerChallenges?: readonly string[];
  /** How the mail with the link fares. `failedAt`: it will not be tried again; `fault` says why, without the address. */
  readonly mail?: { readonly attempts: number; readonly sentAt?: Date; readonly failedAt?: Date; readonly fault?: string };
  /** Set when the workflow is closed for good; the id of the root's stamp is fixed here. */
  readonly closing?: { readonly rootTokenId: string; readonly at: Date };
  /** Set when the chain is closed and the root is computed. Version 0.2.0 kept no chain hash. */
  readonly root?: ChainSum;
  /** What is stamped beside the root (W18), set when that is stamped; workflows that earlier versions completed have none. */
  readonly closingRecord?: StoredClosingRecord;
  /** How often no provider could stamp the root or the closing record. */
  readonly rootFailures?: number;
  readonly completedAt?: Date;
}

/** A workflow as the service sees it. */
export interface WorkflowRecord extends WorkflowFields, PersonalWords {
  /** The workflow's own key, under which words about its outputs travel and rest; none once it was redacted (W10). */
  readonly wordsKey?: KeyObject | undefined;
  /** The salts of the commitments in the closing record (W18); none once it was redacted. */
  readonly salts?: CommitmentSalts | undefined;
}

export type NewWorkflow = Pick<
  WorkflowFields,
  '_id' | 'tokenSha256' | 'briefingHash' | 'tier' | 'createdAt' | 'expiresAt' | 'challengeId'
> &
  PersonalWords;

interface EncryptedWords {
  /** The workflow's own key, wrapped by one of the service; redaction destroys it. */
  readonly wrappedKey: Binary;
  /** PersonalWords as JSON, encrypted under it. */
  readonly words: string;
  /** CommitmentSalts as JSON, encrypted under it. */
  readonly encryptedSalts?: string;
}

/** A workflow as it is stored. In workflows that version 0.2.0 started the personal words are plain until they are first read. */
export interface WorkflowDocument extends WorkflowFields, Partial<EncryptedWords>, Partial<PersonalWords> {}

const keyContext = (workflowId: string): string => `workflow:${workflowId}`;
const wordsContext = (workflowId: string): string => `workflow-words:${workflowId}`;
const saltsContext = (workflowId: string): string => `workflow-salts:${workflowId}`;

/** Personal words under a new key of the workflow, which `serviceKey` wraps. */
export function encryptWords(serviceKey: KeyObject, workflowId: string, words: PersonalWords): EncryptedWords {
  const key = createSecretKey(randomBytes(keyBytes));
  const wrapped = wrapKey({ key: serviceKey, nonce: randomBytes(nonceBytes), context: keyContext(workflowId) }, key);
  const cipher = { key, nonce: randomBytes(nonceBytes), context: wordsContext(workflowId) };
  return { wrappedKey: new Binary(wrapped), words: encryptText(cipher, JSON.stringify(words)) };
}

/** The salts of a closing record under the workflow's own key, so that they go with it. */
export const encryptSalts = (key: KeyObject, workflowId: string, salts: CommitmentSalts): string =>
  encryptText({ key, nonce: randomBytes(nonceBytes), context: saltsContext(workflowId) }, JSON.stringify(salts));

/** The personal words of a document that version 0.2.0 wrote and nobody has redacted. */
export function plainWordsOf({ email, agentId, briefingMetadata, redactedAt }: WorkflowDocument): PersonalWords | undefined {
  if (email === undefined || agentId === undefined || redactedAt) return undefined;
  return { email, agentId, ...(briefingMetadata !== undefined && { briefingMetadata }) };
}

export function documentOf(serviceKey: KeyObject, workflow: NewWorkflow): WorkflowDocument {
  const { email, agentId, briefingMetadata, callbackUrl, callbackProduct, ...fields } = workflow;
  const words = { email, agentId, briefingMetadata, callbackUrl, callbackProduct };
  return { ...fields, status: 'pending', ...encryptWords(serviceKey, fields._id, words) };
}

/** @throws Error when a byte of what is encrypted was changed */
export function recordOf(serviceKey: KeyObject, document: WorkflowDocument): WorkflowRecord {
  const { wrappedKey, words, encryptedSalts, email = redactedEmail, agentId = redactedEmail, briefingMetadata, ...fields } = document;
  if (!wrappedKey || words === undefined) return { ...fields, email, agentId, briefingMetadata };
  const wordsKey = unwrapKey(serviceKey, keyContext(fields._id), wrappedKey.buffer);
  const open = (context: string, encrypted: string): string => {
    const text = wordsKey && decryptText(wordsKey, context, encrypted);
    if (text === undefined) throw new Error(`what is encrypted in workflow ${fields._id} does not open`);
    return text;
  };
  const personal: PersonalWords = JSON.parse(open(wordsContext(fields._id), words));
  const salts: CommitmentSalts | undefined =
    encryptedSalts === undefined ? undefined : JSON.parse(open(saltsContext(fields._id), encryptedSalts));
  return { ...fields, ...personal, wordsKey, salts };
}
