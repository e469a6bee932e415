import { checkLink } from '../../src/shared/domain/proofs.ts';
import { type ChainFault, type ChainLink, chainStart } from '../../src/shared/proof/output-chain.js';

/** The first position where outputs in the order given do not recompute; undefined if the whole chain is correct. */
export function findChainFault(briefingHash: string, links: Iterable<ChainLink>): ChainFault | undefined {
  let end: Parameters<typeof checkLink>[0] = chainStart(briefingHash);
  for (const link of links) {
    const fault = checkLink(end, link);
    if (fault) return fault;
    end = link;
  }
  return undefined;
}
