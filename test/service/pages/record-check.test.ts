import { expect, test } from 'vitest';
import { loadScript } from '../../support/browser-script.ts';
import { evidenceFor } from '../../support/page-record.ts';
import { sha256Of, workflowSamples } from '../../support/page-samples.ts';
import { createPageServer } from '../../support/page-server.ts';

interface Output {
  readonly sequence_number: number;
  readonly output_hash: string;
  readonly chain_hash: string;
}
interface Chain {
  readonly fault: string | undefined;
  append(output: Output): void;
}
interface RecordCheck {
  createChainCheck(briefingHash: string): Chain;
  checkCount(chain: Chain, shown: object): string[];
  checkImprint(evidence: Uint8Array, shown: object, what: string): string[];
}
const { createChainCheck, checkCount, checkImprint }: RecordCheck = await loadScript('record-check.js');

const { briefingHash, root, closingRecord } = workflowSamples.qualified;
const app = await createPageServer();
const { outputs }: { outputs: Output[] } = (await app.inject('/workflow/qualified/outputs.json?first=1')).json();
await app.close();

const changed = (index: number, change: object) => outputs.map((output, at) => (at === index ? { ...output, ...change } : output));

/** What the script says about the published outputs. */
function faultsOf(published: readonly Output[]): string[] {
  const chain = createChainCheck(briefingHash);
  for (const output of published) chain.append(output);
  return [...(chain.fault ? [chain.fault] : []), ...checkCount(chain, { total: outputs.length, status: 'completed' })];
}

test.each<[what: string, published: readonly Output[], said: string]>([
  ['a hash', changed(2, { output_hash: sha256Of('other') }), 'The chain breaks at file 3'],
  ['a hash that is none', changed(0, { output_hash: '<b>' }), 'The chain breaks at file 1'],
  ['an output missing', outputs.toSpliced(3, 1), 'File 4 is missing, or in'],
  ['the last one missing', outputs.toSpliced(-1, 1), 'shows 7 files, but the published list has 6.'],
])('the script of a workflow page finds %s', (_what, published, said) => {
  expect(faultsOf(outputs)).toEqual([]);
  expect(faultsOf(published)).toEqual([expect.stringContaining(said)]);
});

test.each([
  ['is for another hash', evidenceFor(closingRecord!), 'The time-stamp of the Merkle root is for a different hash.'],
  ['cannot be read', Buffer.from('rubbish'), 'The time-stamp of the Merkle root cannot be read.'],
])('the script of a workflow page says that a time-stamp %s', (_what, evidence, said) => {
  const shown = { hash: root!.hash, stampedAt: root!.stamp.stampedAt };
  expect(checkImprint(evidenceFor(root!), shown, 'Merkle root')).toEqual([]);
  expect(checkImprint(evidence, shown, 'Merkle root')).toEqual([said]);
});
