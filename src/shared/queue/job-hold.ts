/**
 * Whether a job is still this worker's, for who asks: surely so for `sureMs` after its lock was made or extended; later Redis is asked, which
 * extends the lock. Who asks before a write and after it knows that nobody else did the job meanwhile.
 *
 * @param takenAt when the worker asked for the job, Unix milliseconds: it may have stood still before it read the answer
 * @param extend extends the lock, and says whether it was there still; it must last for much longer than `sureMs`
 * @returns rejects as `extend` does
 */
export function createHold(takenAt: number, sureMs: number, extend: () => Promise<boolean>): () => Promise<boolean> {
  const sinceTaken = Math.max(0, Date.now() - takenAt);
  let sureUntil = performance.now() - sinceTaken + sureMs;
  return async () => {
    const askedAt = performance.now();
    if (askedAt < sureUntil) return true;
    if (!(await extend())) return false;
    sureUntil = askedAt + sureMs;
    return true;
  };
}
