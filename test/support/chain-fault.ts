import { checkLink } from '../../src/shared/domain/proofs.ts';
import { type ChainFault, type ChainLink, chainStart } from '../../src/shared/proof/output-chain.js';

/** The first place where outputs in the order given do not recompute; undefined when the whole chain holds. */
export function findChainFault(briefingHash: string, links: Iterable<ChainLink>): ChainFault | undefined {
  let end: Parameters<typeof checkLink>[0] = chainStart(briefingHash);
  for (const link of links) {
    const fault = checkLink(end, link);
    if (fault) return fault;
    end = link;
  }
  return undefined;
}
