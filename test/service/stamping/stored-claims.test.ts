import { createSecretKey, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createReplyLookup } from '../../../src/api/stamps/reply-waiter.ts';
import { openStampJudge } from '../../../src/api/verification/stamp-judge.ts';
import { createCompletion } from '../../../src/api/workflows/complete.ts';
import { createStampMarks } from '../../../src/api/workflows/stamp-marks.ts';
import type { WorkflowTools } from '../../../src/api/workflows/workflow-tools.ts';
import { hashOfClosingText } from '../../../src/shared/domain/proofs.ts';
import { sha256Imprint } from '../../../src/shared/domain/stamp.ts';
import { canonicalTextOf, closingRecordOf } from '../../../src/shared/proof/closing-record.js';
import { loadConfig } from '../../../src/shared/runtime/config.ts';
import { createLogger } from '../../../src/shared/runtime/log.ts';
import type { StoredStamp } from '../../../src/shared/store/stamps.ts';
import type { WorkflowRecord } from '../../../src/shared/store/workflows.ts';
import { loadTrustSettings } from '../../../src/shared/trust/trusted-providers.ts';
import { createMockProvider } from '../../../src/workers/providers/mock.ts';
import { buildMemoryApp, memorySettings } from '../../support/memory-app.ts';
import { createMemoryStore } from '../../support/memory-store.ts';
import { serviceToken } from '../../support/service.ts';

const hash = 'a'.repeat(64);
const clock = Date.now;
const log = createLogger({ level: 'fatal', process: 'api' });

/** A store that applies this change to every stamp that is read. */
function storeWith(change: { of?: (stamp: StoredStamp) => StoredStamp }) {
  const store = createMemoryStore();
  const changed = (stamp: StoredStamp) => change.of?.(stamp) ?? stamp;
  const stamps = {
    ...store.stamps,
    find: async (tokenId: string) => {
      const stamp = await store.stamps.find(tokenId);
      return stamp && changed(stamp);
    },
    findMany: async (tokenIds: readonly string[]) => (await store.stamps.findMany(tokenIds)).map(changed),
  };
  return { ...store, stamps };
}

const withProof = (fact: { isQualified?: boolean; issuedAt?: string }) => (stamp: StoredStamp) =>
  ({ ...stamp, proofs: [{ ...stamp.proofs[0], ...fact }] }) as StoredStamp;
const qualified = withProof({ isQualified: true });
const older = withProof({ issuedAt: '2001-01-01T00:00:00.000Z' });

/** A store with a mock stamp for each hash, and its judge. */
async function stampedStore(change: { of?: (stamp: StoredStamp) => StoredStamp }, hashes: readonly string[]) {
  const key = createSecretKey(Buffer.alloc(32, 1));
  const store = { ...storeWith(change), keys: { secret: async () => key, open: async () => undefined } };
  const provider = createMockProvider({ key: async () => key, clock });
  const stamped = hashes.map(async (digest) => {
    const item = {
      tokenId: randomUUID(),
      imprint: sha256Imprint(digest),
      tier: 'basic' as const,
      caller: { kind: 'internal' as const },
      requestId: 'r',
    };
    const proof = await provider.stamp({ ...item, requiresQualified: false });
    return { ...item, proofs: [proof] as const, acceptedAt: new Date() };
  });
  const made = await Promise.all(stamped);
  await store.stamps.insertOnce(made);
  const stampJudge = openStampJudge({ trust: loadTrustSettings(loadConfig(memorySettings)), store, clock, log });
  return { store, made, stampJudge };
}

test('V9: a replay takes `qualified` from the judgement, not from a flag, and never for a stamp that does not verify', async () => {
  const change: { of?: (stamp: StoredStamp) => StoredStamp } = {};
  const app = await buildMemoryApp({ store: storeWith(change), settings: { LOG_LEVEL: 'fatal' } });
  const stamp = () =>
    app.inject({
      method: 'POST',
      url: '/api/v1/internal/v1/stamp',
      headers: { 'x-service-token': serviceToken, 'idempotency-key': 'one' },
      payload: { hash },
    });
  const first = await stamp();
  expect([first.statusCode, first.json().is_qualified]).toEqual([201, false]);
  change.of = qualified;
  expect((await stamp()).json()).toEqual(first.json());
  change.of = older;
  const refused = await stamp();
  const { token_id, verify_url } = first.json();
  expect([refused.statusCode, refused.json()]).toEqual([500, expect.objectContaining({ code: 'internal_error', token_id, verify_url })]);
});

test('V9: a stamp looked up after a lost reply is judged; if it does not verify, it is not found', async () => {
  const change: { of?: (stamp: StoredStamp) => StoredStamp } = { of: qualified };
  const { store, made, stampJudge } = await stampedStore(change, [hash]);
  const lookUp = createReplyLookup({ ...store, stampJudge });
  const { tokenId } = made[0]!;
  expect(await lookUp([tokenId])).toMatchObject([{ outcome: 'stamped', tokenId, isQualified: false }]);
  change.of = older;
  expect(await lookUp([tokenId])).toEqual([]);
});

test('V9: a workflow is completed only if its closing stamps verify', async () => {
  const change: { of?: (stamp: StoredStamp) => StoredStamp } = {};
  const at = new Date('2026-01-02T03:04:05.000Z');
  const workflowId = randomUUID();
  const facts = { workflowId, tier: 'standard' as const, briefingHash: hash, createdAt: at, confirmedAt: undefined, completedAt: at };
  const sum = { outputCount: 3, chainHash: hash, merkleRoot: hash };
  const text = canonicalTextOf(closingRecordOf({ ...facts, ...sum, commitments: undefined }));
  const { store, made, stampJudge } = await stampedStore(change, [hash, hashOfClosingText(text)]);
  const [root, record] = made.map(({ tokenId }) => tokenId) as [string, string];
  const created = await store.workflows.create({
    _id: workflowId,
    tokenSha256: hash,
    email: 'a@example.com',
    agentId: 'agent',
    briefingHash: hash,
    briefingMetadata: undefined,
    tier: 'standard',
    createdAt: at,
    expiresAt: new Date(at.getTime() + 1),
  });
  const completed: WorkflowRecord = {
    ...created.stored,
    status: 'completed',
    completedAt: at,
    root: { hash, outputCount: 3 },
    closing: { rootTokenId: root, at },
    closingRecord: { text, tokenId: record },
  };
  const jobs = { checkConnection: () => undefined, send: async () => 'acknowledged', close: async () => undefined };
  const tools = { workflows: store.workflows, stamps: store.stamps, jobs, clock, waitMs: 1, servesQualified: false };
  const complete = createCompletion(
    { ...tools, addressOf: (path: string) => path } as unknown as WorkflowTools,
    createStampMarks(stampJudge),
  );
  const refused = (workflow: WorkflowRecord) => expect(complete(workflow, 'r')).rejects.toMatchObject({ code: 'internal_error' });
  expect(await complete(completed, 'r')).toMatchObject({ status: 'completed', output_count: 3, completed_at: at.toISOString() });
  await refused({ ...completed, root: { hash: 'b'.repeat(64), outputCount: 3 } });
  await refused({ ...completed, root: { hash, outputCount: 4 } });
  await refused({ ...completed, completedAt: new Date(0) });
  await refused({ ...completed, closing: { rootTokenId: randomUUID(), at } });
  await refused({ ...completed, closingRecord: { text, tokenId: root } });
  change.of = older;
  await refused(completed);
});
