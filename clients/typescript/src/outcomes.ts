import { errorOf, type ServiceError } from './errors.ts';

/** What became of one of many: made, or why it was not. */
export type Outcome<Made> =
  | { readonly made: Made; readonly error?: undefined }
  | { readonly made?: undefined; readonly error: ServiceError };

/** An item of the answer to a list: what was made, or an error with its `index` and `status`. */
export function outcomeOf<Made>(item: Readonly<Record<string, unknown>>): Outcome<Made> {
  const { index, status, retry_after_seconds: wait } = item;
  if (typeof index !== 'number' || typeof status !== 'number') return { made: item as Made };
  return { error: errorOf({ status, body: item, retryAfterSeconds: typeof wait === 'number' ? wait : undefined }) };
}
