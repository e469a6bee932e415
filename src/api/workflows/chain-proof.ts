import { checkLink, createMerkleTree } from '../../shared/domain/proofs.ts';
import { hashBytes, type MerkleTree } from '../../shared/proof/merkle-tree.js';
import { hexOf, octetsOfSha256 } from '../../shared/proof/octets.js';
import { type ChainEnd, type ChainFault, type ChainLink, chainStart } from '../../shared/proof/output-chain.js';
import type { ChainOf, OutputStore } from '../../shared/store/outputs.ts';

/** A chain of outputs, recomputed from the briefing hash (W8). */
export type RecomputedChain = Awaited<ReturnType<ReturnType<typeof createChainProver>['recompute']>>;

/**
 * The maximum memory for recomputed chains in a process, in bytes. An output takes 128 bytes, and up to twice as much after a buffer was enlarged.
 */
const mostBytes = 64 * 1024 * 1024;
const linkBytes = 2 * hashBytes;

interface Walk {
  readonly briefingHash: string;
  readonly tree: MerkleTree;
  /** The output's hash and the chain hash of each link. */
  links: Buffer;
  end: ChainEnd;
  /** The end of the current recomputation: recomputations of one chain run one after the other. */
  walking: Promise<unknown>;
}

const startWalk = (briefingHash: string): Walk => ({
  briefingHash,
  tree: createMerkleTree(),
  links: Buffer.alloc(linkBytes * 16),
  end: chainStart(briefingHash),
  walking: Promise.resolve(),
});

const bytesOf = ({ links, tree }: Walk): number => links.length + tree.bytes;

function take(walk: Walk, { outputHash, sequenceNumber, chainHash }: ChainLink): void {
  const hash = octetsOfSha256(outputHash);
  const at = walk.end.sequenceNumber * linkBytes;
  if (at === walk.links.length) walk.links = Buffer.concat([walk.links, Buffer.alloc(walk.links.length)]);
  walk.links.set(hash, at);
  walk.links.set(octetsOfSha256(chainHash), at + hashBytes);
  walk.tree.append(hash);
  walk.end = { sequenceNumber, chainHash };
}

/**
 * Recomputes chains and keeps the results, so that the next request reads only new outputs. It keeps only recomputed values, no values that the store
 * only states. Code that shows an output must compare it with `linkAt`.
 */
export function createChainProver(outputs: OutputStore) {
  const walks = new Map<string, Walk>();

  /**
   * The walk of this workflow, which becomes the most recently used one. If all walks take too much memory, the least recently used ones are dropped.
   */
  function walkOf({ workflowId, briefingHash }: ChainOf): Walk {
    const known = walks.get(workflowId);
    const walk = known?.briefingHash === briefingHash ? known : startWalk(briefingHash);
    walks.delete(workflowId);
    walks.set(workflowId, walk);
    let bytes = [...walks.values()].reduce((sum, kept) => sum + bytesOf(kept), 0);
    for (const [id, kept] of walks) {
      if (bytes <= mostBytes || id === workflowId) break;
      walks.delete(id);
      bytes -= bytesOf(kept);
    }
    return walk;
  }

  async function goOn(walk: Walk, workflowId: string) {
    /** The first link that does not follow from the previous link. Later links were not checked. */
    let fault: ChainFault | undefined;
    for await (const link of outputs.scanLinks(workflowId, walk.end.sequenceNumber + 1)) {
      fault = checkLink(walk.end, link);
      if (fault) break;
      take(walk, link);
    }
    const { end, links, tree } = walk;
    return {
      fault,
      end,
      rootHash: hexOf(tree.rootAt(end.sequenceNumber)),
      /** The tree of the outputs up to `end`, and perhaps of later outputs. So always give its functions a size. */
      tree,
      /** Returns a recomputed link by its number, up to `end`. The hash of its output is part of the root. */
      linkAt: (sequenceNumber: number): ChainLink | undefined => {
        if (!(sequenceNumber >= 1 && sequenceNumber <= end.sequenceNumber)) return undefined;
        const at = (sequenceNumber - 1) * linkBytes;
        const outputHash = links.toString('hex', at, at + hashBytes);
        return { sequenceNumber, outputHash, chainHash: links.toString('hex', at + hashBytes, at + linkBytes) };
      },
    };
  }

  return {
    /** Recomputes a chain up to the last stored output. @throws ServiceError `store_unavailable` */
    recompute: (chain: ChainOf) => {
      const walk = walkOf(chain);
      const result = walk.walking.then(() => goOn(walk, chain.workflowId));
      walk.walking = result.catch(() => walks.delete(chain.workflowId));
      return result;
    },
    /** Forgets a recomputed chain, because the stored data was found to differ from it. */
    forget: (workflowId: string) => void walks.delete(workflowId),
  };
}
