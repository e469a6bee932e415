import { pino } from 'pino';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createChainProver } from '../../../src/api/workflows/chain-proof.ts';
import { proveWorkflow } from '../../../src/api/workflows/proof.ts';
import type { WorkflowTools } from '../../../src/api/workflows/workflow-tools.ts';
import { extendChain } from '../../../src/shared/domain/proofs.ts';
import { chainStart } from '../../../src/shared/proof/output-chain.js';
import { openStore } from '../../../src/shared/store/store.ts';
import { freshStore } from '../../support/servers.ts';

afterEach(() => void vi.useRealTimers());

const briefingHash = 'b'.repeat(64);
const hash = 'c'.repeat(64);

test('V9: a chain that is still being recomputed makes no claim; the next reader finds it done', async () => {
  const store = openStore(freshStore(), pino({ level: 'silent' }));
  onTestFinished(() => store.close());
  const { promise: whole, resolve: goOn } = Promise.withResolvers<void>();
  const scanLinks = async function* (_workflowId: string, first = 1) {
    await whole;
    if (first === 1) yield { ...extendChain(chainStart(briefingHash), hash), outputHash: hash };
  };
  const tools: Partial<WorkflowTools> = { store, chains: createChainProver({ ...store.outputs, scanLinks }) };
  const prove = () => proveWorkflow(tools as WorkflowTools, { workflow, end, firstNumber: 1, lastNumber: 0, rows: [] });
  const { stored: workflow } = await store.workflows.create({
    _id: 'w',
    tokenSha256: hash,
    email: 'a@example.com',
    agentId: 'agent',
    briefingHash,
    briefingMetadata: undefined,
    tier: 'standard',
    challengeId: 'c',
    createdAt: new Date(0),
    expiresAt: new Date(1),
  });
  vi.useFakeTimers();
  const end = { ...extendChain(chainStart(briefingHash), hash), unqualifiedTotal: 0, isClosed: false };
  const first = prove();
  await vi.advanceTimersByTimeAsync(1_000);
  expect((await first).proof).toEqual({ kind: 'unfinished' });
  goOn();
  expect((await prove()).proof).toEqual({ kind: 'open' });
});
