/** Where the bytes of a body go, piece by piece. */
export interface ByteSink<Received> {
  /**
   * Adds bytes for as long as `take` grants the memory. Where it does not, `missingBytes` are to be taken and given to `grow`, and
   * `rest` is to be added again.
   */
  add(bytes: Buffer, take: (bytes: number) => boolean): { missingBytes: number; rest: Buffer };
  grow(bytes: number): void;
  /** What was made of all that was added; the sink is empty afterwards. */
  finish(): Received;
  /** Forgets what was added. */
  clear(): void;
}

/** Puts the pieces of a body together in blocks of its own, so that a body in tiny pieces takes no more memory than one in large ones. */
export type ByteCollector = ByteSink<Buffer>;

const firstBlockBytes = 16 * 1024;
const largestBlockBytes = 1024 * 1024;
const nothing = Buffer.alloc(0);

/** With an ArrayBuffer of its own. */
type Block = Buffer<ArrayBuffer>;

/** Frees the memory of a block at once; the garbage collector may be long in coming, above all when nothing happens after an attack. */
const free = (block: Block): void => void block.buffer.transfer(0);

/** `mostBytes`: how many will be added at most; the last block is no larger than what is missing. */
export function createByteCollector(mostBytes: number): ByteCollector {
  let blocks: Block[] = [];
  let heldBytes = 0;
  let addedBytes = 0;
  /** A body in one piece is not copied. */
  let whole: Buffer | undefined;

  const nextBlockBytes = () => Math.min(Math.max(heldBytes, firstBlockBytes), largestBlockBytes, mostBytes - heldBytes);
  const grow = (bytes: number) => {
    blocks.push(Buffer.allocUnsafeSlow(bytes));
    heldBytes += bytes;
  };
  return {
    add(bytes, take) {
      if (bytes.length === mostBytes && addedBytes === 0 && take(bytes.length)) {
        whole = bytes;
        return { missingBytes: 0, rest: nothing };
      }
      let rest = bytes;
      while (rest.length > 0) {
        const room = heldBytes - addedBytes;
        if (room === 0) {
          const missingBytes = nextBlockBytes();
          if (!take(missingBytes)) return { missingBytes, rest };
          grow(missingBytes);
        } else {
          const block = blocks.at(-1) ?? nothing;
          const copied = rest.copy(block, block.length - room);
          addedBytes += copied;
          rest = rest.subarray(copied);
        }
      }
      return { missingBytes: 0, rest };
    },
    grow,
    finish() {
      const added = blocks;
      const [first] = added;
      blocks = [];
      if (whole !== undefined || first === undefined) return whole ?? nothing;
      if (added.length === 1) return first.subarray(0, addedBytes);
      const all = Buffer.allocUnsafeSlow(addedBytes);
      let at = 0;
      for (const block of added) {
        at += block.copy(all, at, 0, addedBytes - at);
        free(block);
      }
      return all;
    },
    clear() {
      whole = undefined;
      for (const block of blocks.splice(0)) free(block);
    },
  };
}
