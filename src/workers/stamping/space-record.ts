import type { Clock } from '../../shared/runtime/clock.ts';
import { isOutOfSpace } from '../../shared/store/errors.ts';
import type { StampStore } from '../../shared/store/stamps.ts';

/** Owed stamps are tried again every 5 s at most, by whichever worker: what one has found does not hold for longer. */
const holdsMs = 10_000;

/**
 * The same store of stamps, which remembers whether it had no space for them. Whoever writes something small over something old may not
 * notice. `onChange` is called when that begins or ends.
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
