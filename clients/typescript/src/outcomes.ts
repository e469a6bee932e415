import { errorOf, QstampError } from './errors.ts';
import type { Answered, Call, Exchange } from './exchange.ts';

/** The outcome of one item in a list: the result, or the error. */
export type Outcome<Made> =
  | { readonly made: Made; readonly error?: undefined }
  | { readonly made?: undefined; readonly error: QstampError };

/** Converts an item in the answer to a list. An item with `index` and `status` is an error, any other item is a result. */
function outcomeOf<Made>(item: Answered<Readonly<Record<string, unknown>>>): Outcome<Made> {
  const { index, status, retry_after_seconds: wait } = item;
  if (typeof index !== 'number' || typeof status !== 'number') return { made: item as Made };
  const retryAfterSeconds = typeof wait === 'number' ? wait : undefined;
  return { error: errorOf({ status, body: item, retryAfterSeconds, requestId: item.lastResponse.requestId }) };
}

/**
 * Sends a list in parts of `size` items, one after the other. If a whole part is refused, its items and all later items get this error. Earlier
 * results are still returned.
 *
 * @throws QstampError if the whole first part is refused: then nothing was made
 */
export async function sendInPieces<Made>(
  exchange: Exchange,
  items: readonly unknown[],
  size: number,
  callOf: (index: number) => Call,
): Promise<Outcome<Made>[]> {
  const outcomes: Outcome<Made>[] = [];
  for (let index = 0; index * size < items.length; index += 1) {
    try {
      const body = items.slice(index * size, (index + 1) * size);
      const answers = await exchange.sendList({ ...callOf(index), body });
      outcomes.push(...answers.map((answer) => outcomeOf<Made>(answer)));
    } catch (error) {
      if (index === 0 || !(error instanceof QstampError)) throw error;
      return [...outcomes, ...items.slice(outcomes.length).map(() => ({ error }))];
    }
  }
  return outcomes;
}
