import type { KeyObject } from 'node:crypto';
import type { Collection } from 'mongodb';
import type { CommitmentSalts } from '../domain/commitment.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import { type ChainSum, encryptSalts, type StoredClosingRecord, type WorkflowDocument, type WorkflowRecord } from './workflow-document.ts';

/** The steps that close a workflow, each atomic and safe to repeat; null where it is not in a state to take one. */
export function createWorkflowClosing(deps: {
  workflows: Collection<WorkflowDocument>;
  /** The workflow that an operation found, or null. */
  read(operation: (key: KeyObject) => Promise<WorkflowDocument | null>): Promise<WorkflowRecord | null>;
  find(workflowId: string): Promise<WorkflowRecord | null>;
}) {
  const { workflows, read, find } = deps;
  return {
    /** Closes a workflow that has not expired by `now`, under the id that its root's stamp is to have; a closed one is returned as it is. */
    beginClosing: async (workflowId: string, rootTokenId: string, now: Date): Promise<WorkflowRecord | null> => {
      const closed = await read(() =>
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
    setRoot: (workflowId: string, root: ChainSum): Promise<void> =>
      inStore(async () => void (await workflows.updateOne({ _id: workflowId }, { $set: { root } }))),
    /**
     * Writes the closing record, unless one is there, and returns the workflow as it is then. Its salts rest under the workflow's key, and
     * nowhere when the workflow was redacted meanwhile.
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
    countRootFailure: (workflowId: string): Promise<void> =>
      inStore(async () => void (await workflows.updateOne({ _id: workflowId }, { $inc: { rootFailures: 1 } }))),
    /** Whether this call completed it. */
    complete: (workflowId: string, completedAt: Date): Promise<boolean> =>
      inStore(async () => {
        const { modifiedCount } = await workflows.updateOne(
          { _id: workflowId, status: 'closing' },
          { $set: { status: 'completed', completedAt } },
        );
        return modifiedCount === 1;
      }),
  };
}
