/** Runs of `work` a second, one after the other, counted for about `roundMs`. */
export async function rate(work: () => unknown, roundMs: number): Promise<number> {
  const start = performance.now();
  let runs = 0;
  let elapsed = 0;
  while (elapsed < roundMs) {
    for (let index = 0; index < 20; index++) await work();
    runs += 20;
    elapsed = performance.now() - start;
  }
  return (runs * 1000) / elapsed;
}

export const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
