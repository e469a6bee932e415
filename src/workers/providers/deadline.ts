/**
 * Runs a call whose signal aborts after so many milliseconds, or when `outer` does. Where the call ends before, nothing is left of it:
 * AbortSignal.timeout would keep its timer, and thousands of them cost more than the calls.
 */
export async function withDeadline<T>(ms: number, call: (signal: AbortSignal) => Promise<T>, outer?: AbortSignal): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException('the time is up', 'TimeoutError')), Math.max(1, Math.floor(ms)));
  const onAbort = () => controller.abort(outer?.reason);
  if (outer?.aborted) onAbort();
  else outer?.addEventListener('abort', onAbort, { once: true });
  try {
    return await call(controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', onAbort);
  }
}
