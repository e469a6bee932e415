import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import type { NewOutput } from '../../../src/shared/store/outputs.ts';
import { openStore } from '../../../src/shared/store/store.ts';
import { findChainFault } from '../../support/chain-fault.ts';
import { randomHash } from '../../support/requests.ts';
import { freshStore } from '../../support/servers.ts';

/** One store for each of several independent worker processes. */
function openStores(count: number) {
  const config = freshStore();
  const stores = Array.from({ length: count }, () => openStore(config, pino({ level: 'silent' })));
  onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))));
  return stores.map(({ outputs }) => outputs);
}

const newOutput = (index: number): NewOutput => ({
  outputId: `output-${index}`,
  tokenId: `token-${index}`,
  hash: randomHash(),
  type: 'text',
  metadata: undefined,
  stampedAt: '2026-11-21T12:00:00.000Z',
  provider: 'mock',
  isQualified: index % 2 === 0,
});

test('W8: jobs that run twice at once in several workers append each output once, without gaps', async () => {
  const stores = openStores(4);
  const chain = { workflowId: 'workflow', briefingHash: randomHash() };
  const given = Array.from({ length: 120 }, (_, index) => newOutput(index));
  const batches = Array.from({ length: 12 }, (_, index) => given.slice(index * 10, index * 10 + 10));
  // Every batch in every store, like after a worker that was wrongly taken for lost.
  const results = await Promise.all(stores.flatMap((store) => batches.map((batch) => store.append(chain, batch))));
  const stored = (await stores[0]?.list(chain.workflowId, 1, 1_000)) ?? [];
  expect(stored.map(({ sequenceNumber }) => sequenceNumber)).toEqual(given.map((_, index) => index + 1));
  expect(stored.map(({ tokenId }) => tokenId).toSorted()).toEqual(given.map(({ tokenId }) => tokenId).toSorted());
  const links = stored.map((output) => ({ ...output, outputHash: output.hash }));
  expect(findChainFault(chain.briefingHash, links)).toBeUndefined();
  const numbers = new Map(stored.map(({ tokenId, sequenceNumber }) => [tokenId, sequenceNumber]));
  for (const result of results) {
    expect(result.size).toBe(10);
    for (const [tokenId, { sequenceNumber }] of result) expect(sequenceNumber).toBe(numbers.get(tokenId));
  }
  expect(await stores[1]?.findEnd(chain.workflowId)).toMatchObject({ sequenceNumber: 120, unqualifiedTotal: 60 });
});

test('W9: no output follows the closing link, which is written once, however many workers close', async () => {
  const stores = openStores(3);
  const chain = { workflowId: 'workflow', briefingHash: randomHash() };
  const appends = Array.from({ length: 30 }, (_, index) => stores[index % 3]!.append(chain, [newOutput(index)]));
  const closings = stores.map(async (store, index) => {
    await appends[3 * index];
    return store.close(chain, 'root-token');
  });
  const closed = await Promise.all(closings);
  const appended = (await Promise.all(appends)).filter(({ size }) => size === 1);
  expect(new Set(closed.map(({ sequenceNumber }) => sequenceNumber))).toEqual(new Set([appended.length + 1]));
  expect(await stores[0]!.findEnd(chain.workflowId)).toMatchObject({ sequenceNumber: appended.length });
  expect((await stores[1]!.append(chain, [newOutput(99)])).size).toBe(0);
  // A job that runs again after the end gets its earlier result.
  const [known] = [...(appended[0]?.values() ?? [])];
  const again = await stores[2]!.append(chain, [{ ...newOutput(0), tokenId: known?.tokenId ?? '' }]);
  expect(again.get(known?.tokenId ?? '')?.sequenceNumber).toBe(known?.sequenceNumber);
});
