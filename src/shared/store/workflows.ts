import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { Binary, type Collection, type Db, type Document, type Filter, type UpdateFilter, type UpdateResult } from 'mongodb';
import { type ConfirmWith, maxWrongTries } from '../domain/challenge.ts';
import { decryptText, encryptText, keyBytes, nonceBytes, unwrapKey, wrapKey } from '../domain/encryption.ts';
import type { Language } from '../domain/language.ts';
import type { CommitmentSalts } from '../domain/proofs.ts';
import { redactedEmail } from '../domain/recipient.ts';
import type { WorkflowTier } from '../domain/stamp.ts';
import type { LinkMailState, StoredWorkflowStatus, WorkflowSnapshot } from '../domain/workflow-state.ts';
import { inStore, isDuplicateKey, maxTimeMS } from './connection.ts';

/** Makes the input for the rules in `domain/workflow-state.ts`. */
export const snapshotOf = ({ status, emailVerifiedAt, tier, expiresAt, redactedAt }: WorkflowRecord): WorkflowSnapshot => ({
  status,
  isEmailVerified: emailVerifiedAt !== undefined,
  tier,
  expiresAtMs: expiresAt.getTime(),
  isRedacted: redactedAt !== undefined,
});

export function linkMailStateOf({ mail }: WorkflowRecord): LinkMailState {
  if (mail?.sentAt) return 'sent';
  return mail?.failedAt ? 'failed' : 'waiting';
}

/** A filter that matches a workflow while its e-mail address can still be confirmed. */
const confirmable = (workflowId: string, now: Date) => ({
  _id: workflowId,
  status: 'pending' as const,
  expiresAt: { $gt: now },
  redactedAt: { $exists: false },
});

/** For an update pipeline: a list with the digest of the current challenge, or an empty list. */
const offeredDigests = { $cond: [{ $gt: ['$challenge.digest', null] }, ['$challenge.digest'], []] };

const fieldsOf = (mail: 'mail' | 'completionMail', outcome: MailOutcome) =>
  Object.fromEntries(Object.entries(outcome).map(([name, value]) => [`${mail}.${name}`, value]));

/**
 * Stores workflows. Every change of state is one atomic step on one document. The result is null if the workflow's state does not allow the change.
 *
 * @param serviceKey encrypts the key of each workflow
 */
export function createWorkflowStore(db: Db, serviceKey: () => Promise<KeyObject>) {
  const workflows: Collection<WorkflowDocument> = db.collection('workflows');

  /** Runs an operation, and decrypts the workflow that it found. Resolves to null if it found none. */
  async function read(operation: (key: KeyObject) => Promise<WorkflowDocument | null>): Promise<WorkflowRecord | null> {
    const key = await serviceKey();
    const document = await inStore(() => operation(key));
    return document && recordOf(key, document);
  }

  const find = (workflowId: string): Promise<WorkflowRecord | null> => read(() => workflows.findOne({ _id: workflowId }, { maxTimeMS }));

  /** Changes a workflow in one step. Returns its new state, or null if no workflow matches the filter. */
  const change = (filter: Filter<WorkflowDocument>, update: UpdateFilter<WorkflowDocument> | Document[]): Promise<WorkflowRecord | null> =>
    read(() => workflows.findOneAndUpdate(filter, update, { returnDocument: 'after', maxTimeMS }));

  /** Like `change`, but does not return the new state. */
  const update = (filter: Filter<WorkflowDocument>, fields: UpdateFilter<WorkflowDocument>): Promise<UpdateResult> =>
    inStore(() => workflows.updateOne(filter, fields));

  return {
    /** Writes a new workflow in state `pending`. If its id exists, the stored workflow does not change. */
    create: async (workflow: NewWorkflow): Promise<{ stored: WorkflowRecord; isNew: boolean }> => {
      const key = await serviceKey();
      const document = workflowDocumentOf(key, workflow);
      return inStore(async () => {
        try {
          await workflows.insertOne(document);
          return { stored: recordOf(key, document), isNew: true };
        } catch (error) {
          const stored = isDuplicateKey(error) && (await workflows.findOne({ _id: workflow._id }, { maxTimeMS }));
          if (!stored) throw error;
          return { stored: recordOf(key, stored), isNew: false };
        }
      });
    },
    find,
    /** Returns those of these workflows that are completed. */
    findCompleted: async (workflowIds: readonly string[]): Promise<string[]> => {
      const completed = { _id: { $in: [...workflowIds] }, status: 'completed' } as const;
      const found = await inStore(() => workflows.find(completed, { projection: { _id: 1 }, maxTimeMS }).toArray());
      return found.map(({ _id }) => _id);
    },
    /** Removes a workflow if the service could not answer the request that started it. */
    remove: async (workflowId: string): Promise<void> => {
      await inStore(() => workflows.deleteOne({ _id: workflowId }));
    },
    /**
     * Stores the digest of the challenge before the mail is sent, and returns the workflow. The number of wrong tries stays the same. Resolves to
     * null if the challenge was replaced, or if the e-mail address cannot be confirmed any more.
     */
    offerChallenge: (
      workflowId: string,
      { challengeId, digest, expiresAt }: { challengeId: string; digest: string; expiresAt: Date },
      now: Date,
    ): Promise<WorkflowRecord | null> =>
      change({ ...confirmable(workflowId, now), challengeId }, [
        {
          $set: {
            challenge: { digest, expiresAt, wrongTries: { $ifNull: ['$challenge.wrongTries', 0] } },
            'mail.attempts': { $add: [{ $ifNull: ['$mail.attempts', 0] }, 1] },
          },
        },
      ]),
    /** Replaces the current challenge with a new one, and resets the state of the mail (W6). Returns the new state of the workflow. */
    replaceChallenge: async (workflowId: string, challengeId: string, now: Date): Promise<WorkflowRecord | null> => {
      const replaced = await change({ ...confirmable(workflowId, now), challengeId: { $ne: challengeId } }, [
        { $set: { challengeId, formerChallenges: { $concatArrays: [{ $ifNull: ['$formerChallenges', []] }, offeredDigests] } } },
        { $unset: ['challenge', 'mail'] },
      ]);
      return replaced ?? find(workflowId);
    },
    /** Records the outcome of a mail, unless its challenge was replaced. */
    recordMail: async (workflowId: string, challengeId: string, outcome: MailOutcome): Promise<void> => {
      await update({ _id: workflowId, challengeId }, { $set: fieldsOf('mail', outcome) });
    },
    /** Records the outcome of the mail about the completed workflow. */
    recordCompletionMail: async (workflowId: string, outcome: MailOutcome): Promise<void> => {
      await update({ _id: workflowId }, { $set: fieldsOf('completionMail', outcome) });
    },
    /**
     * In one step, confirms the e-mail address if the digest is right, or counts a wrong try. Returns the new state of the workflow, or null if it
     * has no open challenge.
     */
    answerChallenge: (workflowId: string, digest: string, confirmedWith: ConfirmWith, now: Date): Promise<WorkflowRecord | null> => {
      const isRight = { $eq: ['$challenge.digest', digest] };
      const open = {
        ...confirmable(workflowId, now),
        formerChallenges: { $ne: digest },
        'challenge.usedAt': { $exists: false },
        'challenge.wrongTries': { $lt: maxWrongTries },
        'challenge.expiresAt': { $gt: now },
      };
      const answered = {
        status: { $cond: [isRight, 'active', '$status'] },
        emailVerifiedAt: { $cond: [isRight, now, '$emailVerifiedAt'] },
        confirmedWith: { $cond: [isRight, confirmedWith, '$confirmedWith'] },
        'challenge.usedAt': { $cond: [isRight, now, '$challenge.usedAt'] },
        'challenge.wrongTries': { $cond: [isRight, '$challenge.wrongTries', { $add: ['$challenge.wrongTries', 1] }] },
      };
      return change(open, [{ $set: answered }]);
    },
    /**
     * Begins to close a workflow that has not expired by `now`, and stores the id for the root's stamp. A workflow that is already closing or
     * completed is returned unchanged.
     */
    beginClosing: async (workflowId: string, rootTokenId: string, now: Date): Promise<WorkflowRecord | null> => {
      const closed = await change(
        { _id: workflowId, status: { $in: ['pending', 'active'] }, expiresAt: { $gt: now } },
        { $set: { status: 'closing', closing: { rootTokenId, at: now } }, $unset: { challenge: '' } },
      );
      if (closed) return closed;
      const stored = await find(workflowId);
      return stored?.closing ? stored : null;
    },
    setRoot: async (workflowId: string, root: ChainSum): Promise<void> => {
      await update({ _id: workflowId }, { $set: { root } });
    },
    /**
     * Writes the closing record, unless one exists, and returns the new state of the workflow. The salts are encrypted with the workflow's key. If
     * the workflow was redacted in the meantime, they are not stored.
     */
    setClosingRecord: async (
      { _id: workflowId, wordsKey }: WorkflowRecord,
      record: StoredClosingRecord,
      salts: CommitmentSalts | undefined,
    ): Promise<WorkflowRecord | null> => {
      await inStore(async () => {
        const unwritten = { _id: workflowId, closingRecord: { $exists: false } };
        if (wordsKey && salts) {
          const encryptedSalts = encryptSalts(wordsKey, workflowId, salts);
          const unredacted = { ...unwritten, redactedAt: { $exists: false } };
          await workflows.updateOne(unredacted, { $set: { closingRecord: record, encryptedSalts } });
        }
        await workflows.updateOne(unwritten, { $set: { closingRecord: record } });
      });
      return find(workflowId);
    },
    /** Completes a closing workflow. Resolves to true if this call completed it. */
    complete: async (workflowId: string, completedAt: Date): Promise<boolean> => {
      const { modifiedCount } = await update({ _id: workflowId, status: 'closing' }, { $set: { status: 'completed', completedAt } });
      return modifiedCount === 1;
    },
    /** Destroys the workflow's key, so that nobody can read its e-mail address, agent id and metadata any more. Deletes the challenge too. */
    redact: async (workflowId: string, now: Date): Promise<void> => {
      const forgotten = {
        wrappedKey: '',
        words: '',
        encryptedSalts: '',
        challenge: '',
        formerChallenges: '',
      } as const;
      await update({ _id: workflowId, redactedAt: { $exists: false } }, { $set: { redactedAt: now }, $unset: forgotten });
    },
  };
}

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
  /** The language of the mails to the client. */
  readonly locale?: Language | undefined;
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

type NewWorkflow = Pick<WorkflowFields, '_id' | 'tokenSha256' | 'briefingHash' | 'tier' | 'createdAt' | 'expiresAt' | 'challengeId'> &
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
interface WorkflowDocument extends WorkflowFields, Partial<EncryptedWords> {}

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
const encryptSalts = (key: KeyObject, workflowId: string, salts: CommitmentSalts): string =>
  encryptText({ key, nonce: randomBytes(nonceBytes), context: saltsContext(workflowId) }, JSON.stringify(salts));

function workflowDocumentOf(serviceKey: KeyObject, workflow: NewWorkflow): WorkflowDocument {
  const { email, agentId, briefingMetadata, locale, callbackUrl, callbackProduct, ...fields } = workflow;
  const words = { email, agentId, briefingMetadata, locale, callbackUrl, callbackProduct };
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
