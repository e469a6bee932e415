import { isUtf8 } from 'node:buffer';
import { keepMetadataNumbers } from '../../shared/contract/metadata-numbers.ts';
import { findDeepNesting, findJsonSyntaxError } from './json-syntax.ts';
import { RequestValidationError } from './validation.ts';

/** The most arrays and objects inside one another in a value of metadata; more overflows the stack of whatever walks it. */
export const maxNesting = 64;
/** The body and its metadata are around that value. */
const maxBodyNesting = maxNesting + 2;

/**
 * The most colons and commas in a body, counted in texts too. An object with a million members would block the process for seconds. Large
 * bodies are no problem: their size comes from base64, which has neither character.
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

/** A body that is not JSON (E2): 422 with `loc` `["body", offset]`, the offset in code points behind a byte order mark. */
export class MalformedJsonError extends RequestValidationError {
  constructor(offset: number, reason: string) {
    super([{ type: 'json_invalid', loc: ['body', offset], msg: 'JSON decode error', input: {}, ctx: { error: reason } }]);
  }
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * The value of a JSON text in UTF-8 (RFC 8259), with or without a byte order mark.
 *
 * @throws MalformedJsonError where and why in the words of CPython's `json`; NaN, Infinity and deep nesting are refused as well.
 */
export function parseJsonText(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new MalformedJsonError(offsetOfInvalidUtf8(bytes), 'Invalid UTF-8');
  if (hasMoreThan(mostSeparators, bytes)) throw new MalformedJsonError(0, `More than ${mostSeparators} members`);
  const start = bytes.subarray(0, 3).equals(byteOrderMark) ? 3 : 0;
  const text = bytes.toString('utf8', start);
  const value = parse(text);
  if (nestsDeeperThan(maxBodyNesting, value)) {
    throw new MalformedJsonError(findDeepNesting(text, maxBodyNesting), `Nested deeper than ${maxBodyNesting} levels`);
  }
  keepMetadataNumbers(value, text);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const fault = findJsonSyntaxError(text);
    throw new MalformedJsonError(fault?.offset ?? 0, fault?.error ?? 'Expecting value');
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

function offsetOfInvalidUtf8(bytes: Buffer): number {
  const repaired = Buffer.from(bytes.toString('utf8'));
  let index = 0;
  while (repaired[index] === bytes[index]) index += 1;
  const isContinuation = (byte = 0) => (byte & 0xc0) === 0x80;
  while (isContinuation(repaired[index])) index -= 1;
  let codePoints = 0;
  for (const byte of repaired.subarray(0, index)) codePoints += isContinuation(byte) ? 0 : 1;
  return repaired.subarray(0, 3).equals(byteOrderMark) ? Math.max(codePoints - 1, 0) : codePoints;
}
