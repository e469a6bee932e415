import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { Binary } from 'mongodb';
import type { ConfirmWith } from '../domain/challenge.ts';
import { decryptText, encryptText, keyBytes, nonceBytes, unwrapKey, wrapKey } from '../domain/encryption.ts';
import type { CommitmentSalts } from '../domain/proofs.ts';
import { redactedEmail } from '../domain/recipient.ts';
import type { WorkflowTier } from '../domain/stamp.ts';
import type { StoredWorkflowStatus } from '../domain/workflow-state.ts';

/** A challenge as stored: only its digest, never the challenge itself (W6). */
interface StoredChallenge {
  readonly digest: string;
  readonly expiresAt: Date;
  readonly wrongTries: number;
  readonly usedAt?: Date;
}

/** The personal and secret data of a workflow, which the caller sent. */
interface PersonalWords {
  /** `[REDACTED]` after redaction. */
  readonly email: string;
  /** `[REDACTED]` after redaction. */
  readonly agentId: string;
  /** JSON text, because the caller chooses the names in it, and they must not become field names in the database. */
  readonly briefingMetadata?: string | undefined;
  /** The address for webhooks about the workflow; it may contain a secret. */
  readonly callbackUrl?: string | undefined;
  /** The product that asked for the webhooks. Present if there is an address for them. */
  readonly callbackProduct?: string | undefined;
}

/** The root and the size of a closed chain. */
export interface ChainSum {
  /** Merkle root, lower-case hex. */
  readonly hash: string;
  readonly outputCount: number;
  /** The chain hash of the last output; the briefing hash if there is no output. */
  readonly chainHash: string;
}

export interface StoredClosingRecord {
  /** Canonical JSON. */
  readonly text: string;
  /** The id of the record's stamp, even before the stamp is made. */
  readonly tokenId: string;
}

/** The outcome of a mail to the client. `failedAt`: when it was given up. `fault`: why it failed, without the e-mail address. */
export type MailOutcome = { readonly sentAt: Date } | { readonly failedAt: Date; readonly fault: string } | { readonly fault: string };

interface MailRecord {
  readonly sentAt?: Date;
  readonly failedAt?: Date;
  readonly fault?: string;
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
  /** What confirmed the e-mail address. Absent before that. */
  readonly confirmedWith?: ConfirmWith;
  readonly redactedAt?: Date;
  /** The id of the current challenge. The challenge in the mail is derived from it. */
  readonly challengeId: string;
  readonly challenge?: StoredChallenge;
  /** Digests of challenges that were replaced. */
  readonly formerChallenges?: readonly string[];
  /** The state of the mail with the link. */
  readonly mail?: MailRecord & { readonly attempts: number };
  /** The state of the mail about the completed workflow (W27). */
  readonly completionMail?: MailRecord;
  /** Set when the workflow is closed permanently. It contains the id for the root's stamp, so that this id never changes. */
  readonly closing?: { readonly rootTokenId: string; readonly at: Date };
  /** Set when the chain is closed and the root is computed. */
  readonly root?: ChainSum;
  /** The closing record, set when the root is stamped. */
  readonly closingRecord?: StoredClosingRecord;
  readonly completedAt?: Date;
}

/** A workflow in decrypted form. */
export interface WorkflowRecord extends WorkflowFields, PersonalWords {
  /** The workflow's own key, with which also the metadata of its outputs is encrypted. Absent after redaction. */
  readonly wordsKey?: KeyObject | undefined;
  /** The salts of the commitments in the closing record; absent after redaction. */
  readonly salts?: CommitmentSalts | undefined;
}

export type NewWorkflow = Pick<
  WorkflowFields,
  '_id' | 'tokenSha256' | 'briefingHash' | 'tier' | 'createdAt' | 'expiresAt' | 'challengeId'
> &
  PersonalWords;

interface EncryptedWords {
  /** The workflow's own key, encrypted with a key of the service. Redaction destroys it. */
  readonly wrappedKey: Binary;
  /** PersonalWords as JSON, encrypted with the workflow's key. */
  readonly words: string;
  /** CommitmentSalts as JSON, encrypted with the workflow's key. */
  readonly encryptedSalts?: string;
}

/** A workflow as stored. After redaction it has no personal data. */
export interface WorkflowDocument extends WorkflowFields, Partial<EncryptedWords> {}

const keyContext = (workflowId: string): string => `workflow:${workflowId}`;
const wordsContext = (workflowId: string): string => `workflow-words:${workflowId}`;
const saltsContext = (workflowId: string): string => `workflow-salts:${workflowId}`;

/** Encrypts personal data with a new key of the workflow, which `serviceKey` encrypts. */
function encryptWords(serviceKey: KeyObject, workflowId: string, words: PersonalWords): EncryptedWords {
  const key = createSecretKey(randomBytes(keyBytes));
  const wrapped = wrapKey({ key: serviceKey, nonce: randomBytes(nonceBytes), context: keyContext(workflowId) }, key);
  const cipher = { key, nonce: randomBytes(nonceBytes), context: wordsContext(workflowId) };
  return { wrappedKey: new Binary(wrapped), words: encryptText(cipher, JSON.stringify(words)) };
}

/** Encrypts the salts of a closing record with the workflow's own key, so that nobody can read them after redaction destroys this key. */
export const encryptSalts = (key: KeyObject, workflowId: string, salts: CommitmentSalts): string =>
  encryptText({ key, nonce: randomBytes(nonceBytes), context: saltsContext(workflowId) }, JSON.stringify(salts));

export function workflowDocumentOf(serviceKey: KeyObject, workflow: NewWorkflow): WorkflowDocument {
  const { email, agentId, briefingMetadata, callbackUrl, callbackProduct, ...fields } = workflow;
  const words = { email, agentId, briefingMetadata, callbackUrl, callbackProduct };
  return { ...fields, status: 'pending', ...encryptWords(serviceKey, fields._id, words) };
}

/** Decrypts a stored workflow. @throws Error if an encrypted byte was changed */
export function recordOf(serviceKey: KeyObject, document: WorkflowDocument): WorkflowRecord {
  const { wrappedKey, words, encryptedSalts, ...fields } = document;
  if (!wrappedKey || words === undefined) return { ...fields, email: redactedEmail, agentId: redactedEmail };
  const wordsKey = unwrapKey(serviceKey, keyContext(fields._id), wrappedKey.buffer);
  const open = (context: string, encrypted: string): string => {
    const text = wordsKey && decryptText(wordsKey, context, encrypted);
    if (text === undefined) throw new Error(`the encrypted data of workflow ${fields._id} cannot be decrypted`);
    return text;
  };
  const personal: PersonalWords = JSON.parse(open(wordsContext(fields._id), words));
  const salts: CommitmentSalts | undefined =
    encryptedSalts === undefined ? undefined : JSON.parse(open(saltsContext(fields._id), encryptedSalts));
  return { ...fields, ...personal, wordsKey, salts };
}
