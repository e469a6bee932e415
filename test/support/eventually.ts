/** Waits until `check` answers something truthy, and answers that; fails after `withinMs`. */
export async function eventually<T>(check: () => Promise<T | undefined | false>, withinMs = 20_000): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`not so within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
