/** These functions are part of ECMAScript 2026, but the types of TypeScript 7 do not have them yet. */
declare global {
  interface JSON {
    rawJSON(text: string): object;
    isRawJSON(value: unknown): value is { readonly rawJSON: string };
  }
}

/** Whether `JSON.parse` and then `JSON.stringify` change the characters of this number: `123456789012345678`, `1.0`, `1e400`. */
export const isRewritten = (number: string): boolean => JSON.stringify(Number(number)) !== number;

const asWritten = (_name: string, value: unknown, { source }: { readonly source?: string } = {}): unknown =>
  typeof value === 'number' && source !== undefined && isRewritten(source) ? JSON.rawJSON(source) : value;

/**
 * Like `JSON.parse`, but a number that would change becomes a `JSON.rawJSON` with the characters of its sender. `JSON.stringify` writes it with these
 * characters.
 */
export const parseAsWritten = (text: string): unknown => JSON.parse(text, asWritten);
