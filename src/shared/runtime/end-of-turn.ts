let turn: Promise<void> | undefined;

/**
 * Resolves when this turn of the event loop has brought everything that it brings, for all who wait for it at once. What they do next they
 * do one after the other, step by step: the same code thirty times, while the processor's caches hold it. Where each would go its whole way by
 * itself, it costs a third more (docs/architecture.md).
 */
export function endOfTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined;
      resolve();
    });
  });
  return turn;
}
