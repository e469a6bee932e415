import { parseAsWritten } from '../../shared/contract/fields.ts';
import { RequestValidationError } from './validation.ts';

/** The maximum nesting of arrays and objects in a value of metadata. Much deeper values could overflow the stack of recursive code. */
export const maxNesting = 64;
/** The body and its member `metadata` add two levels. */
const maxBodyNesting = maxNesting + 2;

/**
 * The maximum number of colons and commas in a body, also inside strings. An object with a million members would block the process for seconds. Large
 * valid bodies are not affected: their size comes from base64, which contains neither character.
 */
const mostSeparators = 50_000;

function hasMoreThan(most: number, bytes: Buffer): boolean {
  let found = 0;
  for (const separator of [':', ',']) {
    for (let index = bytes.indexOf(separator); index >= 0; index = bytes.indexOf(separator, index + 1)) {
      found += 1;
      if (found > most) return true;
    }
  }
  return false;
}

/** A body that is not JSON (E2): 422 with `loc` `["body", offset]`. The offset is that in V8's message, if it has one. */
export class MalformedJsonError extends RequestValidationError {
  constructor(reason: string, end = 0) {
    const offset = Number(/ at position (\d+)/.exec(reason)?.[1] ?? (reason.startsWith('Unexpected end') ? end : 0));
    super([{ type: 'json_invalid', loc: ['body', offset], msg: 'JSON decode error', input: {}, ctx: { error: reason } }]);
  }
}

/**
 * Parses a JSON text in UTF-8 (RFC 8259), with or without a byte order mark. In the metadata of a workflow, numbers have the characters of their
 * sender (W15).
 *
 * @throws MalformedJsonError with V8's message; also for deep nesting and too many members
 */
export function parseJsonText(bytes: Buffer): unknown {
  if (hasMoreThan(mostSeparators, bytes)) throw new MalformedJsonError(`More than ${mostSeparators} members`);
  const text = decode(bytes);
  const value = parse(text);
  if (nestsDeeperThan(maxBodyNesting, value)) throw new MalformedJsonError(`Nested deeper than ${maxBodyNesting} levels`);
  if (hasMetadata.test(text)) keepMetadata(value, parseAsWritten(text));
  return value;
}

const metadataNames: ReadonlySet<string> = new Set(['briefing_metadata', 'output_metadata']);
const hasMetadata = /"(briefing|output)_metadata"/;

/** Replaces all metadata of workflows in `value` by that in `written`. */
function keepMetadata(value: unknown, written: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const members = value as Record<string, unknown>;
  for (const [name, member] of Object.entries(written as Record<string, unknown>)) {
    const isMetadata = metadataNames.has(name) && typeof member === 'object' && member !== null && !JSON.isRawJSON(member);
    if (isMetadata) members[name] = member;
    else keepMetadata(members[name], member);
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new MalformedJsonError('Invalid UTF-8');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new MalformedJsonError(error.message, text.length);
  }
}

function nestsDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    if (nestsDeeperThan(levels - 1, member)) return true;
  }
  return false;
}
