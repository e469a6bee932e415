/** These functions are part of ECMAScript 2026, but the types of TypeScript 7 do not have them yet. */
declare global {
  interface JSON {
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

/**
 * A reviver for `JSON.parse` that keeps the numbers in a workflow's metadata exactly as they were sent (W15), even if a double cannot hold them
 * (`123456789012345678`) or JSON would write them differently (`1.0`). `JSON.rawJSON` keeps the text of such a number.
 */
const asWritten = (_name: string, value: unknown, { source }: { readonly source?: string } = {}): unknown => {
  const isRewritten = typeof value === 'number' && Number.isFinite(value) && source !== undefined && JSON.stringify(value) !== source;
  return isRewritten ? JSON.rawJSON(source) : value;
};

const names: ReadonlySet<string> = new Set(['briefing_metadata', 'output_metadata']);
const hasName = /"(briefing|output)_metadata"/;

/** Parses stored metadata and keeps its numbers as they were sent. */
export const readMetadata = (text: string): Record<string, unknown> => JSON.parse(text, asWritten);

/** Restores the numbers in all metadata of `value` as they were sent. `value` is the result of `JSON.parse(text)`. */
export function keepMetadataNumbers(value: unknown, text: string): void {
  if (hasName.test(text)) replaceMetadata(value, JSON.parse(text, asWritten));
}

function replaceMetadata(value: unknown, written: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const members = value as Record<string, unknown>;
  for (const [name, member] of Object.entries(written as Record<string, unknown>)) {
    const isMetadata = names.has(name) && typeof member === 'object' && member !== null && !JSON.isRawJSON(member);
    if (isMetadata) members[name] = member;
    else replaceMetadata(members[name], member);
  }
}
