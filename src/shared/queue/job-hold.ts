/**
 * Whether a job is still this worker's: surely so for `sureMs` after its lock was made or extended; later Redis is asked, which extends the lock.
 * Who gets `true` after a write knows that no other run of the job had begun by then.
 *
 * @param takenAt when the worker asked for the job, Unix milliseconds: it may have stood still before it read the answer
 * @param extend extends the lock, and says whether it was there still; it must last for much longer than `sureMs`
 * @returns rejects as `extend` does
 */
export function createHold(takenAt: number, sureMs: number, extend: () => Promise<boolean>): () => Promise<boolean> {
  let [lookedAt, lookedAtLived] = [takenAt, performance.now() - Math.max(0, Date.now() - takenAt)];
  return async () => {
    const [now, lived] = [Date.now(), performance.now()];
    // The one stands still while the machine sleeps, the other may be set back.
    if (Math.max(now - lookedAt, lived - lookedAtLived) < sureMs) return true;
    if (!(await extend())) return false;
    [lookedAt, lookedAtLived] = [now, lived];
    return true;
  };
}
