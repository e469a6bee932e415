import { createTreeHeadBuilder, type TreeHeadBuilder } from '../../../shared/domain/merkle.ts';
import { type ChainEnd, type ChainFault, chainStart, checkLink } from '../../../shared/domain/output-chain.ts';
import { bytesOfSha256 } from '../../../shared/domain/sha256-hex.ts';
import type { ChainOf, OutputStore } from '../../../shared/store/outputs.ts';

/** A chain of outputs as it was recomputed from the briefing hash on (W8). */
export interface RecomputedChain {
  /** The first link that does not follow from the one before; what comes after it was not looked at. */
  readonly fault: ChainFault | undefined;
  readonly end: ChainEnd;
  /** Merkle root over the outputs up to `end` (W9), lower-case hex. */
  readonly rootHash: string;
  /** The hash of an output by its number, as it went into chain and root. */
  hashAt(sequenceNumber: number): string | undefined;
}

export interface ChainProver {
  /** Recomputes a chain up to what is stored now. @throws ServiceError `store_unavailable` */
  recompute(chain: ChainOf): Promise<RecomputedChain>;
  /** Forgets what was recomputed, because what is stored has been seen to differ from it. */
  forget(workflowId: string): void;
}

/** What recomputed chains may take of the memory of one process; 32 bytes an output. */
const mostBytes = 64 * 1024 * 1024;
const hashBytes = 32;

interface Walk {
  readonly briefingHash: string;
  readonly tree: TreeHeadBuilder;
  hashes: Buffer;
  end: ChainEnd;
  /** Walks of one chain go one after the other. */
  walking: Promise<unknown>;
}

const startWalk = (briefingHash: string): Walk => ({
  briefingHash,
  tree: createTreeHeadBuilder(),
  hashes: Buffer.alloc(hashBytes * 16),
  end: chainStart(briefingHash),
  walking: Promise.resolve(),
});

function take(walk: Walk, hash: Buffer): void {
  const at = walk.end.sequenceNumber * hashBytes;
  if (at === walk.hashes.length) walk.hashes = Buffer.concat([walk.hashes, Buffer.alloc(walk.hashes.length)]);
  hash.copy(walk.hashes, at);
  walk.tree.append(hash);
}

/**
 * Recomputes chains, and keeps the hashes that it has linked, so that the next page only needs the new outputs. Nothing that the store
 * claims is kept. Whoever shows an output must compare its hash with `hashAt`.
 */
export function createChainProver({ outputs }: { outputs: Pick<OutputStore, 'scanLinks'> }): ChainProver {
  const walks = new Map<string, Walk>();

  /** The walk of this workflow, marked as used last. When all walks together take too much memory, those used longest ago are dropped. */
  function walkOf({ workflowId, briefingHash }: ChainOf): Walk {
    const known = walks.get(workflowId);
    const walk = known?.briefingHash === briefingHash ? known : startWalk(briefingHash);
    walks.delete(workflowId);
    walks.set(workflowId, walk);
    let bytes = [...walks.values()].reduce((sum, { hashes }) => sum + hashes.length, 0);
    for (const [id, { hashes }] of walks) {
      if (bytes <= mostBytes || id === workflowId) break;
      walks.delete(id);
      bytes -= hashes.length;
    }
    return walk;
  }

  async function goOn(walk: Walk, workflowId: string): Promise<RecomputedChain> {
    let fault: ChainFault | undefined;
    for await (const link of outputs.scanLinks(workflowId, walk.end.sequenceNumber + 1)) {
      fault = checkLink(walk.end, link);
      if (fault) break;
      take(walk, bytesOfSha256(link.outputHash));
      walk.end = { sequenceNumber: link.sequenceNumber, chainHash: link.chainHash };
    }
    const { end, hashes } = walk;
    return {
      fault,
      end,
      rootHash: walk.tree.head().rootHash.toString('hex'),
      hashAt: (number) =>
        number >= 1 && number <= end.sequenceNumber ? hashes.toString('hex', (number - 1) * hashBytes, number * hashBytes) : undefined,
    };
  }

  return {
    recompute: (chain) => {
      const walk = walkOf(chain);
      const result = walk.walking.then(() => goOn(walk, chain.workflowId));
      walk.walking = result.catch(() => walks.delete(chain.workflowId));
      return result;
    },
    forget: (workflowId) => void walks.delete(workflowId),
  };
}
