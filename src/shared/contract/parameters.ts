import { z } from 'zod';
import { issueOf, type PydanticIssue, text } from './fields.ts';

const unparsable: PydanticIssue = { type: 'int_parsing', msg: 'Input should be a valid integer, unable to parse string as an integer' };
const oversized: PydanticIssue = {
  type: 'int_parsing_size',
  msg: 'Unable to parse input string as an integer, exceeded maximum size',
};
/** Python's own limit for texts that become integers. */
const mostDigits = 4_300;

/**
 * An integer as pydantic reads it from a text: surrounding blanks, a sign, leading zeros, single underscores between digits,
 * and a fraction of zeros are all allowed.
 */
function parseInteger(input: string): bigint | PydanticIssue {
  const trimmed = input.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '');
  if (!/^[+-]?[0-9]+(_[0-9]+)*(\.0+)?$/.test(trimmed)) return unparsable;
  const digits = trimmed.replace(/\.0+$/, '').replace(/[+_]/g, '');
  return digits.replace(/^-?0*/, '').length > mostDigits ? oversized : BigInt(digits);
}

export interface IntegerBounds {
  readonly low: number;
  readonly high: number;
  /** What counts where the parameter is absent. */
  readonly fallback: number;
}

/** An integer in the query, given as a number once it is within its bounds. */
export function queryInteger({ low, high, fallback }: IntegerBounds) {
  return z
    .string()
    .transform((given, context): number => {
      const parsed = parseInteger(given);
      const issue = typeof parsed === 'bigint' ? outOfBounds(parsed, low, high) : parsed;
      if (issue === undefined) return Number(parsed);
      context.addIssue(issueOf(issue));
      return z.NEVER;
    })
    .default(fallback)
    .meta({ type: 'integer', minimum: low, maximum: high, default: fallback });
}

function outOfBounds(value: bigint, low: number, high: number): PydanticIssue | undefined {
  if (value < low) return { type: 'greater_than_equal', msg: `Input should be greater than or equal to ${low}`, ctx: { ge: low } };
  if (value > high) return { type: 'less_than_equal', msg: `Input should be less than or equal to ${high}`, ctx: { le: high } };
  return undefined;
}

const groupLengths = [8, 4, 4, 4, 12];
const lastGroupStart = 24;
const urnPrefix = 'urn:uuid:';

/** The text inside braces or behind `urn:uuid:`, and how many characters stand before it. */
function unwrapUuid(input: string): { readonly text: string; readonly offset: number } {
  if (input.length > 1 && input.startsWith('{') && input.endsWith('}')) return { text: input.slice(1, -1), offset: 1 };
  if (input.startsWith(urnPrefix)) return { text: input.slice(urnPrefix.length), offset: urnPrefix.length };
  return { text: input, offset: 0 };
}

/**
 * Why a text is no UUID, in the words of the parser behind pydantic (the Rust crate `uuid`): positions count UTF-8 bytes from 1,
 * and what is wrapped is judged without its wrapping when the whole has the length of a wrapped UUID.
 */
function uuidFault(given: string): string {
  const hasWrappedLength = Buffer.byteLength(given) === 36 + (given.startsWith('{') ? 2 : urnPrefix.length);
  const input = hasWrappedLength ? unwrapUuid(given).text : given;
  const { text, offset } = unwrapUuid(input);
  const stranger = /[^0-9a-fA-F-]/u.exec(text);
  if (stranger) {
    const position = offset + Buffer.byteLength(text.slice(0, stranger.index)) + 1;
    return `invalid character: found \`${stranger[0]}\` at ${position}`;
  }
  const groups = text.split('-');
  if (groups.length === 1 && offset === 0) return `invalid length: expected length 32 for simple format, found ${text.length}`;
  if (groups.length !== 5) return `invalid group count: expected 5, found ${groups.length}`;
  const wrong = groups.slice(0, 4).findIndex((group, index) => group.length !== groupLengths[index]);
  const group = wrong < 0 ? 4 : wrong;
  const found = wrong < 0 ? input.length - lastGroupStart : groups[group]?.length;
  return `invalid group length in group ${group}: expected ${groupLengths[group]}, found ${found}`;
}

/** The UUID that a text spells, in lower case with hyphens: any version, with or without hyphens, in braces, or as a URN. */
function parseUuid(input: string): string | undefined {
  const { text, offset } = unwrapUuid(input);
  const isHyphenated = /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/.test(text);
  if (isHyphenated) return text.toLowerCase();
  if (offset > 0 || !/^[0-9a-fA-F]{32}$/.test(text)) return undefined;
  return text.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** A UUID that a caller gives; given on in lower case with hyphens. */
export const anyUuid = z
  .string()
  .transform((given, context): string => {
    const uuid = parseUuid(given);
    if (uuid !== undefined) return uuid;
    const fault = uuidFault(given);
    context.addIssue(issueOf({ type: 'uuid_parsing', msg: `Input should be a valid UUID, ${fault}`, ctx: { error: fault } }));
    return z.NEVER;
  })
  .meta({ type: 'string', format: 'uuid' });

/** Headers of every operation that may be repeated (S9). */
export const idempotencyHeaders = z.object({
  'idempotency-key': text({ min: 1, max: 255, pattern: '^[\\x21-\\x7e]*$' })
    .optional()
    .describe('a word of your own for this request: sent again with it, the first answer comes again and nothing is done twice'),
});

/** Headers of operations that a client may prefer not to wait for, or to wait for longer (RFC 7240, N1). */
export const preferHeaders = z.object({
  prefer: z
    .string()
    .optional()
    .describe(
      '`respond-async`: 202 as soon as the request is accepted; where an outcome is asked for, `wait=10`: wait so many seconds for it',
    ),
});
