import { isOutOfSpace } from '../../shared/store/errors.ts';
import type { StampStore } from '../../shared/store/stamps.ts';

/** How long an observation is valid. Some worker retries stamps that could not be stored at least every 5 s. */
const holdsMs = 10_000;

/**
 * Wraps the stamp store and remembers whether its last insert failed because the disk is full. Other small writes may still succeed then, so only
 * inserts count. `onChange` is called when a write shows that this state has begun or ended.
 */
export function withSpaceRecord(stamps: StampStore, options: { onChange: () => void }) {
  const { onChange } = options;
  let fullAt = Number.NEGATIVE_INFINITY;
  const isFull = () => performance.now() - fullAt < holdsMs;

  function note(at: number): void {
    const wasFull = isFull();
    fullAt = at;
    if (isFull() !== wasFull) onChange();
  }

  const insertOnce: StampStore['insertOnce'] = async (records) => {
    try {
      const outcome = await stamps.insertOnce(records);
      note(Number.NEGATIVE_INFINITY);
      return outcome;
    } catch (error) {
      if (isOutOfSpace(error)) note(performance.now());
      throw error;
    }
  };
  return { stamps: { ...stamps, insertOnce }, isFull };
}
