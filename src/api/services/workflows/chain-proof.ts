import { createTreeHeadBuilder } from '../../../shared/domain/merkle.ts';
import { type ChainEnd, type ChainFault, chainStart, checkLink } from '../../../shared/domain/output-chain.ts';
import { bytesOfSha256 } from '../../../shared/domain/sha256-hex.ts';
import type { OutputStore } from '../../../shared/store/outputs.ts';

/** What recomputing a workflow's chain from its briefing hash gave. */
export interface RecomputedChain {
  /** Where it breaks first. */
  readonly fault: ChainFault | undefined;
  readonly total: number;
  /** The chain hash that it ends with. */
  readonly chainHash: string;
  /** Lower-case hex (W9). */
  readonly rootHash: string;
  /** The hashes that went into it, 32 bytes each in order. */
  readonly hashes: Buffer;
}

/** Chains that are shorter are recomputed for every page: that takes milliseconds. */
const shortest = 1_000;
const mostKept = 8;
const hashBytes = 32;

/**
 * Recomputes chains (V9). That of a hundred thousand outputs takes longer than a reader waits, so long ones are kept by the chain hash
 * that they end with, never by a flag: whoever shows outputs compares them with `hashes`, and has them recomputed where they differ.
 */
export function createChainProofs(outputs: Pick<OutputStore, 'scanLinks'>) {
  const kept = new Map<string, RecomputedChain>();

  async function recompute(workflowId: string, briefingHash: string): Promise<RecomputedChain> {
    const tree = createTreeHeadBuilder();
    const hashes: Buffer[] = [];
    let end: ChainEnd = chainStart(briefingHash);
    let fault: ChainFault | undefined;
    for await (const link of outputs.scanLinks(workflowId)) {
      fault ??= checkLink(end, link);
      const bytes = bytesOfSha256(link.outputHash);
      tree.append(bytes);
      hashes.push(bytes);
      end = link;
    }
    const { treeSize, rootHash } = tree.head();
    return { fault, total: treeSize, chainHash: end.chainHash, rootHash: rootHash.toString('hex'), hashes: Buffer.concat(hashes) };
  }

  /** Whether these hashes, from output number `first` on, are those that went into the chain. */
  const holds = (chain: RecomputedChain, first: number, shown: readonly string[]): boolean =>
    chain.hashes.subarray((first - 1) * hashBytes, (first - 1 + shown.length) * hashBytes).toString('hex') === shown.join('');

  return async (
    { workflowId, briefingHash, chainHash }: { workflowId: string; briefingHash: string; chainHash: string | null },
    shown: { readonly first: number; readonly hashes: readonly string[] },
  ): Promise<RecomputedChain> => {
    const key = `${workflowId} ${briefingHash} ${chainHash}`;
    const known = kept.get(key);
    if (known && holds(known, shown.first, shown.hashes)) return known;
    kept.delete(key);
    const chain = await recompute(workflowId, briefingHash);
    if (chain.fault === undefined && chain.total >= shortest && chain.chainHash === chainHash) {
      kept.set(key, chain);
      const [oldest] = kept.keys();
      if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest);
    }
    return chain;
  };
}
