import { createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import type { ServicePorts } from '../../src/api/services.ts';
import { ServiceError } from '../../src/shared/domain/service-error.ts';
import type { ActivityTotals } from '../../src/shared/store/counters.ts';
import type { StoredStamp } from '../../src/shared/store/stamps.ts';
import type { WorkflowRecord } from '../../src/shared/store/workflows.ts';

type Store = ServicePorts['store'];

/** A workflow step that only the real store supports: tests that need it use the real one. */
const beyondMemory = async (): Promise<never> => {
  throw new ServiceError('store_unavailable', 'The store in memory takes no such step.');
};
async function* none(): AsyncGenerator<never> {}
const noActivity = (): ActivityTotals => ({
  stamps: 0,
  failed: 0,
  verifications: 0,
  workflowsStarted: 0,
  workflowsCompleted: 0,
  renewed: 0,
});

/** The store of one app, in memory: the data that requests write and read, without outputs and later workflow states. */
export function createMemoryStore(): Store {
  const stamps = new Map<string, StoredStamp>();
  const contents = new Map<string, Buffer>();
  const bindings = new Map<string, { requestDigest: string; resourceId: string }>();
  const workflows = new Map<string, WorkflowRecord>();
  const secret = createSecretKey(randomBytes(32));
  return {
    ping: async () => undefined,
    keys: { secret: async () => secret, open: async () => undefined },
    stamps: {
      insertOnce: async (given) => {
        const isNew = given.map(({ tokenId }) => !stamps.has(tokenId));
        for (const [index, stamp] of given.entries()) if (isNew[index]) stamps.set(stamp.tokenId, stamp);
        return given.map((stamp, index) => ({ stored: stamps.get(stamp.tokenId) ?? stamp, isNew: isNew[index] === true }));
      },
      find: async (tokenId) => stamps.get(tokenId) ?? null,
      findMany: async (tokenIds) => tokenIds.flatMap((tokenId) => stamps.get(tokenId) ?? []),
      findIdByToken: async () => null,
      listByProduct: async () => [],
      countByProduct: async () => 0,
    },
    evidenceTerms: { readState: async () => undefined },
    newDigests: { insertOnce: async () => undefined },
    refusals: { insertOnce: async () => undefined, find: async () => undefined, forgetFailed: async () => undefined },
    sealedContents: {
      put: async (_tokenId, bytes) => {
        const contentId = randomUUID();
        contents.set(contentId, bytes);
        return contentId;
      },
      open: async (contentId) => {
        const content = contents.get(contentId);
        return content === undefined
          ? null
          : {
              size: content.length,
              read: async function* (start, end) {
                yield content.subarray(start, end);
              },
            };
      },
      remove: async (contentId) => void contents.delete(contentId),
      listNotSwept: none,
    },
    idempotency: {
      isBound: async (key) => bindings.has(key),
      bind: async ({ key, requestDigest, resourceId }) => {
        const isFirst = !bindings.has(key);
        const bound = bindings.get(key) ?? { requestDigest, resourceId };
        bindings.set(key, bound);
        return { ...bound, isFirst };
      },
    },
    counters: {
      addStamps: () => undefined,
      add: () => undefined,
      recount: async () => 0,
      recountEnded: async () => undefined,
      upgrade: async () => undefined,
      close: async () => undefined,
      totals: async () => ({ last24h: noActivity(), lifetime: noActivity() }),
      daily: async () => [],
      productTotal: async () => 0,
    },
    workflows: {
      create: async (workflow) => {
        const isNew = !workflows.has(workflow._id);
        const stored = workflows.get(workflow._id) ?? { ...workflow, status: 'pending' };
        workflows.set(workflow._id, stored);
        return { stored, isNew };
      },
      find: async (workflowId) => workflows.get(workflowId) ?? null,
      remove: async (workflowId) => void workflows.delete(workflowId),
      offerChallenge: beyondMemory,
      replaceChallenge: beyondMemory,
      recordMail: beyondMemory,
      answerChallenge: beyondMemory,
      beginClosing: beyondMemory,
      setRoot: beyondMemory,
      setClosingRecord: beyondMemory,
      countRootFailure: beyondMemory,
      complete: beyondMemory,
      redact: beyondMemory,
    },
    outputs: {
      append: beyondMemory,
      close: beyondMemory,
      findEnd: async () => undefined,
      findByTokens: async () => [],
      list: async () => [],
      scanLinks: none,
      findNumbers: async () => [],
      forgetMetadata: beyondMemory,
    },
  };
}
