import type { Collection, Db } from 'mongodb';
import { maxWrongTries } from '../domain/challenge.ts';
import { redactedEmail } from '../domain/mask-email.ts';
import type { WorkflowTier } from '../domain/tiers.ts';
import type { LinkMailState, StoredWorkflowStatus, WorkflowSnapshot } from '../domain/workflow-state.ts';
import { maxTimeMS } from './connection.ts';
import { inStore, isDuplicateKey } from './errors.ts';

/** What is kept of a challenge: never the challenge (W6). */
export interface StoredChallenge {
  readonly digest: string;
  readonly expiresAt: Date;
  readonly wrongTries: number;
  readonly usedAt?: Date;
}

/** A workflow as it is stored. What callers say in words of their own is JSON text: names in it are no field names of ours. */
export interface WorkflowRecord {
  readonly _id: string;
  readonly tokenSha256: string;
  /** `[REDACTED]` once it was redacted. */
  readonly email: string;
  readonly agentId: string;
  readonly briefingHash: string;
  readonly briefingMetadata?: string | undefined;
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
  /** How the verification mail fares. `failedAt`: it will not be tried again; `fault` says why, without the address. */
  readonly mail?: { readonly attempts: number; readonly sentAt?: Date; readonly failedAt?: Date; readonly fault?: string };
  /** Set when the workflow is closed for good; the id of the root's stamp is fixed here. */
  readonly closing?: { readonly rootTokenId: string; readonly at: Date };
  /** Set when the closing record is in the chain and the root is computed. */
  readonly root?: { readonly hash: string; readonly outputCount: number };
  /** How often no provider could stamp the root. */
  readonly rootFailures?: number;
  readonly completedAt?: Date;
}

export type NewWorkflow = Pick<
  WorkflowRecord,
  '_id' | 'tokenSha256' | 'email' | 'agentId' | 'briefingHash' | 'briefingMetadata' | 'tier' | 'createdAt' | 'expiresAt' | 'challengeId'
>;

/** What the rules of `domain/workflow-state.ts` ask of a workflow. */
export const snapshotOf = ({ status, emailVerifiedAt, tier, expiresAt, redactedAt }: WorkflowRecord): WorkflowSnapshot => ({
  status,
  isEmailVerified: emailVerifiedAt !== undefined,
  tier,
  expiresAtMs: expiresAt.getTime(),
  isRedacted: redactedAt !== undefined,
});

export function linkMailStateOf({ mail }: Pick<WorkflowRecord, 'mail'>): LinkMailState {
  if (mail?.sentAt) return 'sent';
  return mail?.failedAt ? 'failed' : 'waiting';
}

/** The workflow while its address can still be confirmed. */
const confirmable = (workflowId: string, now: Date) => ({
  _id: workflowId,
  status: 'pending' as const,
  expiresAt: { $gt: now },
  redactedAt: { $exists: false },
});

/** The workflow while this challenge is the one that counts. */
const counting = (challengeId: string) => ({ $or: [{ challengeId }, { challengeId: { $exists: false } }] });

/** In a pipeline: a list of the digest that was offered, or an empty one. */
const offeredDigests = { $cond: [{ $gt: ['$challenge.digest', null] }, ['$challenge.digest'], []] };

/** Every transition is one atomic step on one document; undefined or null where the workflow is not in a state to take it. */
export interface WorkflowStore {
  /** Writes a new workflow in state `pending`, unless its id is taken: then what is stored stays. */
  create(workflow: NewWorkflow): Promise<{ stored: WorkflowRecord; isNew: boolean }>;
  find(workflowId: string): Promise<WorkflowRecord | null>;
  /** Removes a workflow whose start could not be answered. */
  remove(workflowId: string): Promise<void>;
  /** Stores the digest of the challenge that is about to be mailed, and returns the workflow; wrong tries stay counted. Null for one that was replaced. */
  offerChallenge(
    workflowId: string,
    challenge: { challengeId: string; digest: string; expiresAt: Date },
    now: Date,
  ): Promise<WorkflowRecord | null>;
  /** Ends the challenge that counts, if another one does, and makes way for the mail of this one (W6): the workflow as it is afterwards. */
  replaceChallenge(workflowId: string, challengeId: string, now: Date): Promise<WorkflowRecord | null>;
  /** Nothing is recorded of the mail of a challenge that was replaced. */
  recordMail(
    workflowId: string,
    challengeId: string,
    outcome: { sentAt: Date } | { failedAt: Date; fault: string } | { fault: string },
  ): Promise<void>;
  /**
   * Consumes the challenge, or counts a wrong try, in one step (W6): the workflow as it is afterwards. Null when there is no
   * challenge that could be answered.
   */
  answerChallenge(workflowId: string, digest: string, now: Date): Promise<WorkflowRecord | null>;
  /** Closes a workflow that has not expired by `now`, under the id that its root's stamp is to have; a closed one is returned as it is. */
  beginClosing(workflowId: string, rootTokenId: string, now: Date): Promise<WorkflowRecord | null>;
  setRoot(workflowId: string, root: { hash: string; outputCount: number }): Promise<void>;
  countRootFailure(workflowId: string): Promise<void>;
  /** Whether this call completed it. */
  complete(workflowId: string, completedAt: Date): Promise<boolean>;
  /** Forgets the address, the challenge and what callers said in words of their own (W10). */
  redact(workflowId: string, now: Date): Promise<void>;
}

export function createWorkflowStore(db: Db): WorkflowStore {
  const workflows: Collection<WorkflowRecord> = db.collection('workflows');

  const find = (workflowId: string) => inStore(() => workflows.findOne({ _id: workflowId }, { maxTimeMS }));

  async function create(workflow: NewWorkflow): Promise<{ stored: WorkflowRecord; isNew: boolean }> {
    const record: WorkflowRecord = { ...workflow, status: 'pending' };
    try {
      await workflows.insertOne(record);
      return { stored: record, isNew: true };
    } catch (error) {
      const stored = isDuplicateKey(error) && (await workflows.findOne({ _id: workflow._id }, { maxTimeMS }));
      if (!stored) throw error;
      return { stored, isNew: false };
    }
  }

  return {
    create: (workflow) => inStore(() => create(workflow)),
    find,
    remove: (workflowId) => inStore(async () => void (await workflows.deleteOne({ _id: workflowId }))),
    offerChallenge: (workflowId, { challengeId, digest, expiresAt }, now) =>
      inStore(() =>
        workflows.findOneAndUpdate(
          { ...confirmable(workflowId, now), ...counting(challengeId) },
          [
            {
              $set: {
                challenge: { digest, expiresAt, wrongTries: { $ifNull: ['$challenge.wrongTries', 0] } },
                'mail.attempts': { $add: [{ $ifNull: ['$mail.attempts', 0] }, 1] },
              },
            },
          ],
          { returnDocument: 'after', maxTimeMS },
        ),
      ),
    replaceChallenge: async (workflowId, challengeId, now) => {
      const replaced = await inStore(() =>
        workflows.findOneAndUpdate(
          { ...confirmable(workflowId, now), challengeId: { $ne: challengeId } },
          [
            { $set: { challengeId, formerChallenges: { $concatArrays: [{ $ifNull: ['$formerChallenges', []] }, offeredDigests] } } },
            { $unset: ['challenge', 'mail'] },
          ],
          { returnDocument: 'after', maxTimeMS },
        ),
      );
      return replaced ?? find(workflowId);
    },
    recordMail: (workflowId, challengeId, outcome) => {
      const fields = Object.fromEntries(Object.entries(outcome).map(([name, value]) => [`mail.${name}`, value]));
      return inStore(async () => void (await workflows.updateOne({ _id: workflowId, ...counting(challengeId) }, { $set: fields })));
    },
    answerChallenge: (workflowId, digest, now) => {
      const isRight = { $eq: ['$challenge.digest', digest] };
      return inStore(() =>
        workflows.findOneAndUpdate(
          {
            ...confirmable(workflowId, now),
            formerChallenges: { $ne: digest },
            'challenge.usedAt': { $exists: false },
            'challenge.wrongTries': { $lt: maxWrongTries },
            'challenge.expiresAt': { $gt: now },
          },
          [
            {
              $set: {
                status: { $cond: [isRight, 'active', '$status'] },
                emailVerifiedAt: { $cond: [isRight, now, '$emailVerifiedAt'] },
                'challenge.usedAt': { $cond: [isRight, now, '$challenge.usedAt'] },
                'challenge.wrongTries': { $cond: [isRight, '$challenge.wrongTries', { $add: ['$challenge.wrongTries', 1] }] },
              },
            },
          ],
          { returnDocument: 'after', maxTimeMS },
        ),
      );
    },
    beginClosing: async (workflowId, rootTokenId, now) => {
      const closed = await inStore(() =>
        workflows.findOneAndUpdate(
          { _id: workflowId, status: { $in: ['pending', 'active'] }, expiresAt: { $gt: now } },
          { $set: { status: 'closing', closing: { rootTokenId, at: now } }, $unset: { challenge: '' } },
          { returnDocument: 'after', maxTimeMS },
        ),
      );
      if (closed) return closed;
      const stored = await find(workflowId);
      return stored?.closing ? stored : null;
    },
    setRoot: (workflowId, root) => inStore(async () => void (await workflows.updateOne({ _id: workflowId }, { $set: { root } }))),
    countRootFailure: (workflowId) =>
      inStore(async () => void (await workflows.updateOne({ _id: workflowId }, { $inc: { rootFailures: 1 } }))),
    complete: (workflowId, completedAt) =>
      inStore(async () => {
        const { modifiedCount } = await workflows.updateOne(
          { _id: workflowId, status: 'closing' },
          { $set: { status: 'completed', completedAt } },
        );
        return modifiedCount === 1;
      }),
    redact: (workflowId, now) =>
      inStore(async () => {
        const stored = await workflows.findOne({ _id: workflowId }, { maxTimeMS });
        if (!stored || stored.redactedAt) return;
        const namesAddress = stored.agentId.toLowerCase().includes(stored.email.toLowerCase());
        await workflows.updateOne(
          { _id: workflowId, redactedAt: { $exists: false } },
          {
            $set: { email: redactedEmail, redactedAt: now, ...(namesAddress && { agentId: redactedEmail }) },
            $unset: { challenge: '', formerChallenges: '', briefingMetadata: '' },
          },
        );
      }),
  };
}
