import type { Clock } from '../../shared/runtime/clock.ts';
import { isOutOfSpace } from '../../shared/store/errors.ts';
import type { StampStore } from '../../shared/store/stamps.ts';

/** Owed stamps are retried at least every 5 s by some worker, so an observation is valid only this long. */
const holdsMs = 10_000;

/**
 * Wraps the stamp store and remembers whether it had no space. Small writes over existing data may still succeed then. `onChange` is called when
 * that state begins or ends.
 */
export function withSpaceRecord<S extends Pick<StampStore, 'insertOnce'>>(stamps: S, options: { clock: Clock; onChange: () => void }) {
  const { clock, onChange } = options;
  let fullAt = Number.NEGATIVE_INFINITY;
  const isFull = () => clock() - fullAt < holdsMs;

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
      if (isOutOfSpace(error)) note(clock());
      throw error;
    }
  };
  return { stamps: { ...stamps, insertOnce }, isFull };
}
