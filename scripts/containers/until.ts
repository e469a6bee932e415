import { eventually } from '../../test/support/eventually.ts';

const patienceMs = 120_000;

/** What `look` answers once that is true of anything; failing to look counts as not yet. @throws Error that says what did not come about. */
export async function until<T>(what: string, look: () => Promise<T | false | undefined>): Promise<T> {
  let last = 'it is not so';
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
