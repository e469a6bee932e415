import { createHash } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createChainProver } from '../../../src/api/workflows/chain-proof.ts';
import { createSealedChainProver } from '../../../src/api/workflows/sealed-chain.ts';
import type { MarkStamp } from '../../../src/api/workflows/stamp-marks.ts';
import { createTreeProofs } from '../../../src/api/workflows/tree-proofs.ts';
import { extendChain } from '../../../src/shared/domain/proofs.ts';
import { sha256Imprint } from '../../../src/shared/domain/stamp.ts';
import { chainStart } from '../../../src/shared/proof/output-chain.js';
import { openStore } from '../../../src/shared/store/store.ts';
import { freshStore } from '../../support/servers.ts';

const briefingHash = 'b'.repeat(64);
const hash = 'c'.repeat(64);
/** For a tree with one leaf (RFC 9162 §2.1.1). */
const rootHash = createHash('sha256')
  .update(Buffer.from(`00${hash}`, 'hex'))
  .digest('hex');
const at = new Date('2026-01-02T03:04:05.000Z');

test('W21: a seal that was not verified proves nothing', async () => {
  const store = openStore(freshStore(), pino({ level: 'silent' }));
  onTestFinished(() => store.close());
  const imprint = sha256Imprint(rootHash);
  const proofs = [{ kind: 'mock', token: 'AAAA', provider: 'mock', isQualified: false, issuedAt: at.toISOString() }] as const;
  const caller = { kind: 'workflow' } as const;
  await store.stamps.insertOnce([{ tokenId: 'root', imprint, tier: 'basic', caller, acceptedAt: at, requestId: 'r', proofs }]);
  const { stored } = await store.workflows.create({
    _id: 'w',
    tokenSha256: hash,
    email: 'a@example.com',
    agentId: 'agent',
    briefingHash,
    briefingMetadata: undefined,
    tier: 'standard',
    createdAt: at,
    expiresAt: new Date(at.getTime() + 1),
  });
  const root = { hash: rootHash, outputCount: 1 };
  const workflow = { ...stored, status: 'completed' as const, completedAt: at, root, closing: { rootTokenId: 'root', at } };
  const scanLinks = async function* (_workflowId: string, first = 1) {
    if (first === 1) yield { ...extendChain(chainStart(briefingHash), hash), outputHash: hash };
  };
  const proofsWhere = (kind: 'proved' | 'not_proved') => {
    const markStamp: MarkStamp = async (claim) => ({
      ...claim,
      verifyUrl: '/',
      isQualified: false,
      qualification: null,
      verdict: { kind },
    });
    const chains = createChainProver({ outputs: { scanLinks } });
    const proveSealedChain = createSealedChainProver({ chains, stamps: store.stamps, markStamp, waitMs: 5_000 });
    return createTreeProofs({ proveSealedChain, outputs: store.outputs, addressOf: (path) => path });
  };
  const proved = { root_stamp: { stamp_id: 'root', issued_at: at.toISOString() } };
  expect(await proofsWhere('proved').inclusion(workflow, 1)).toMatchObject(proved);
  expect(await proofsWhere('proved').consistency(workflow, { first: 1, second: 0 })).toMatchObject(proved);
  const refused = { code: 'internal_error', message: expect.stringContaining('cannot be verified') };
  await expect(proofsWhere('not_proved').inclusion(workflow, 1)).rejects.toMatchObject(refused);
  await expect(proofsWhere('not_proved').consistency(workflow, { first: 1, second: 0 })).rejects.toMatchObject(refused);
});
