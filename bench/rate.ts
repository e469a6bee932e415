/** Runs of `work` a second, counted for about `roundMs`. */
export function rate(work: () => void, roundMs: number): number {
  const start = performance.now();
  let runs = 0;
  let elapsed = 0;
  while (elapsed < roundMs) {
    for (let index = 0; index < 20; index++) work();
    runs += 20;
    elapsed = performance.now() - start;
  }
  return (runs * 1000) / elapsed;
}

export const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
