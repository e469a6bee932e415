import { createHash } from 'node:crypto';
import { createChainProver } from '../src/api/workflows/chain-proof.ts';
import { type ChainEnd, type ChainLink, chainStart, extendChain } from '../src/shared/domain/output-chain.ts';

/** What a proof over a long workflow costs: the first has the chain recomputed, later ones have it at hand. Without the store's part. */
const outputs = Number(process.argv[2] ?? 100_000);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const briefingHash = sha256('briefing');
const links: ChainLink[] = [];
let end: ChainEnd = chainStart(briefingHash);
for (let number = 1; number <= outputs; number += 1) {
  const outputHash = sha256(`output ${number}`);
  end = extendChain(end, outputHash);
  links.push({ ...end, outputHash });
}

const scanLinks = async function* (_workflowId: string, first = 1) {
  yield* links.slice(first - 1);
};
const prover = createChainProver({ outputs: { scanLinks } });
const recompute = () => prover.recompute({ workflowId: 'bench', briefingHash });

function report(what: string, startedAt: number, times = 1): void {
  console.log(`${what}: ${((performance.now() - startedAt) / times).toFixed(3)} ms`);
}

let startedAt = performance.now();
const { tree } = await recompute();
report(`the chain and tree of ${outputs} outputs, recomputed`, startedAt);
const proofs = 1_000;
startedAt = performance.now();
for (let index = 0; index < proofs; index += 1) {
  await recompute();
  tree.proveInclusion((index * 7_919) % outputs, outputs);
}
report('an inclusion proof', startedAt, proofs);
startedAt = performance.now();
for (let index = 0; index < proofs; index += 1) tree.proveConsistency(1 + ((index * 7_919) % outputs), outputs);
report('a consistency proof', startedAt, proofs);
