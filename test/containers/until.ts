import { eventually } from '../support/eventually.ts';

const patienceMs = 120_000;

/**
 * Repeats `look` until its result is truthy, and returns the result. An error of `look` counts as "not yet".
 *
 * @throws Error that names what did not happen
 */
export async function until<T>(what: string, look: () => Promise<T | false | undefined>): Promise<T> {
  let last = 'the condition is not met';
  const patiently = () =>
    look().catch((error: Error) => {
      last = error.message;
      return undefined;
    });
  try {
    return await eventually(patiently, patienceMs, 250);
  } catch {
    throw new Error(`not within ${patienceMs / 1_000} s: ${what} (${last})`);
  }
}
