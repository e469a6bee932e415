import { z } from 'zod';
import { issueOf, type PydanticIssue } from './fields.ts';

const unparsable: PydanticIssue = { type: 'int_parsing', msg: 'Input should be a valid integer, unable to parse string as an integer' };
const oversized: PydanticIssue = { type: 'int_parsing_size', msg: 'Unable to parse input string as an integer, exceeded maximum size' };
const mostDigits = 4_300;

/** An integer as pydantic reads it from a string: signs, surrounding blanks, leading zeros, single underscores, `.0`. */
function parseInteger(input: string): bigint | PydanticIssue {
  const trimmed = input.trim();
  if (!/^[+-]?[0-9]+(_[0-9]+)*(\.0*)?$/.test(trimmed) || trimmed.endsWith('.')) return unparsable;
  const digits = trimmed.replace(/\.0*$/, '').replaceAll('_', '').replace(/^\+/, '');
  return digits.length > mostDigits ? oversized : BigInt(digits);
}

/** An integer in the query; of a repeated parameter the last counts. Given as a number once it is within its bounds. */
export function queryInteger(bounds: { low: number; high?: number; fallback: number }) {
  const { low, high, fallback } = bounds;
  return z
    .union([z.string(), z.array(z.string())])
    .transform((given, context): number => {
      const parsed = parseInteger(Array.isArray(given) ? (given.at(-1) ?? '') : given);
      const refuse = (issue: PydanticIssue): never => {
        context.addIssue(issueOf(issue));
        return z.NEVER;
      };
      if (typeof parsed !== 'bigint') return refuse(parsed);
      if (parsed < low)
        return refuse({ type: 'greater_than_equal', msg: `Input should be greater than or equal to ${low}`, ctx: { ge: low } });
      if (high !== undefined && parsed > high) {
        return refuse({ type: 'less_than_equal', msg: `Input should be less than or equal to ${high}`, ctx: { le: high } });
      }
      return Number(parsed);
    })
    .default(fallback)
    .meta({ type: 'integer', minimum: low, ...(high !== undefined && { maximum: high }), default: fallback });
}

const hyphenated = [8, 4, 4, 4, 12];

/** Why a text is no UUID, in the words of the parser behind pydantic (Rust's `uuid` crate); undefined when it is one. */
function uuidFault(input: string): string | undefined {
  const unwrapped = unwrapUuid(input);
  const invalid = /[^0-9a-fA-F-]/u.exec(unwrapped.text);
  const groups = unwrapped.text.split('-');
  if (/^[0-9a-fA-F]{32}$/.test(unwrapped.text)) return undefined;
  if (invalid) {
    const position = unwrapped.offset + Buffer.byteLength(unwrapped.text.slice(0, invalid.index)) + 1;
    return `invalid character: found \`${invalid[0]}\` at ${position}`;
  }
  if (groups.length === 1) return `invalid length: expected length 32 for simple format, found ${unwrapped.text.length}`;
  if (groups.length !== 5) return `invalid group count: expected 5, found ${groups.length}`;
  const wrong = groups.findIndex((group, index) => group.length !== hyphenated[index]);
  return wrong < 0 ? undefined : `invalid group length in group ${wrong}: expected ${hyphenated[wrong]}, found ${groups[wrong]?.length}`;
}

function unwrapUuid(input: string): { text: string; offset: number } {
  if (/^\{.*\}$/s.test(input)) return { text: input.slice(1, -1), offset: 1 };
  if (input.startsWith('urn:uuid:')) return { text: input.slice(9), offset: 9 };
  return { text: input, offset: 0 };
}

/** A UUID in the path: any version, with or without hyphens, either case; given in lower case with hyphens. */
export const pathUuid = z
  .string()
  .transform((given, context): string => {
    const fault = uuidFault(given);
    if (fault !== undefined) {
      context.addIssue(issueOf({ type: 'uuid_parsing', msg: `Input should be a valid UUID, ${fault}`, ctx: { error: fault } }));
      return z.NEVER;
    }
    const digits = unwrapUuid(given).text.replaceAll('-', '').toLowerCase();
    return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join('-');
  })
  .meta({ type: 'string', format: 'uuid' });
