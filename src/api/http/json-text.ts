import { isRewritten, parseAsWritten } from '../../shared/contract/fields.ts';
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

/** A body that is not JSON (E2): 422 with `loc` `["body", offset]`. */
export class MalformedJsonError extends RequestValidationError {
  constructor(offset: number, reason: string) {
    super([{ type: 'json_invalid', loc: ['body', offset], msg: 'JSON decode error', input: {}, ctx: { error: reason } }]);
  }
}

/** A parsed JSON text. */
export interface ParsedJson {
  /** The value, as `JSON.parse` gives it. In the metadata of a workflow, numbers have the characters of their sender (W15). */
  readonly value: unknown;
  /** The same value in which all numbers have the characters of their sender (`JSON.rawJSON`). Usually no number needs that: then it is `value` itself. */
  readonly written: unknown;
}

/**
 * Parses a JSON text in UTF-8 (RFC 8259), with or without a byte order mark.
 *
 * @throws MalformedJsonError with the offset and V8's message; also for deep nesting and too many members
 */
export function parseJsonText(bytes: Buffer): ParsedJson {
  if (hasMoreThan(mostSeparators, bytes)) throw new MalformedJsonError(0, `More than ${mostSeparators} members`);
  const text = decode(bytes);
  const value = parse(text);
  if (nestsDeeperThan(maxBodyNesting, value)) throw new MalformedJsonError(0, `Nested deeper than ${maxBodyNesting} levels`);
  if (!hasRewrittenNumber(bytes)) return { value, written: value };
  const written = parseAsWritten(text);
  keepMetadata(value, written);
  return { value, written };
}

const quote = 0x22;
const backslash = 0x5c;
const isDigit = (octet: number | undefined): boolean => octet !== undefined && octet >= 0x30 && octet <= 0x39;
const partsOfNumber: ReadonlySet<number | undefined> = new Set(Buffer.from('0123456789+-.eE'));
/** In a string, the end is searched octet by octet up to this length, and by `indexOf` from there: it is faster only for long strings. */
const shortString = 256;

/** Whether a valid JSON text has a number that would be written differently. Every body is searched, so this must be fast for megabytes. */
function hasRewrittenNumber(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += 1) {
    if (bytes[at] === quote) {
      at = endOfString(bytes, at + 1);
    } else if (isDigit(bytes[at]) || bytes[at] === 0x2d) {
      const start = at;
      while (partsOfNumber.has(bytes[at + 1])) at += 1;
      if (isRewritten(bytes.toString('latin1', start, at + 1))) return true;
    }
  }
  return false;
}

/** The place of the quote that ends the string whose first character is at `start`. */
function endOfString(bytes: Buffer, start: number): number {
  for (let at = start; ; at += 1) {
    if (bytes[at] === quote) return at;
    if (bytes[at] === backslash) at += 1;
    else if (at - start === shortString) {
      const end = bytes.indexOf(quote, at + 1);
      if (bytes[end - 1] !== backslash) return end;
    }
  }
}

const metadataNames: ReadonlySet<string> = new Set(['briefing_metadata', 'output_metadata']);

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
    throw new MalformedJsonError(new TextDecoder().decode(bytes).indexOf('\ufffd'), 'Invalid UTF-8');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new MalformedJsonError(offsetOf(error, text), error.message);
  }
}

/** A place where a value must begin, but does not. */
const noValue = /(?:^|[:,]|\[(?![ \t\n\r]*\]))[ \t\n\r]*(?![ \t\n\r[{\d-]|true|false|null)/;

/** In longer texts the missing value is not searched, because that would take a second. */
const mostSearched = 64 * 1024;

/** The offset of the fault in the text. V8's message contains it, unless the text ends too early or a value is missing. */
function offsetOf({ message }: SyntaxError, text: string): number {
  const told = / JSON at position (\d+) \(line \d+ column \d+\)$/.exec(message)?.[1];
  if (told !== undefined) return Number(told);
  if (message === 'Unexpected end of JSON input') return text.length;
  if (text.length > mostSearched) return 0;
  const withoutTexts = text.replace(/\\./gs, '00').replace(/"[^"]*"/g, (found) => '0'.repeat(found.length));
  const fault = noValue.exec(withoutTexts);
  return fault ? fault.index + fault[0].length : 0;
}

function nestsDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    if (nestsDeeperThan(levels - 1, member)) return true;
  }
  return false;
}
