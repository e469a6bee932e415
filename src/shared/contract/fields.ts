import { createHash } from 'node:crypto';
import { domainToASCII } from 'node:url';
import { z } from 'zod';

/**
 * A broken rule in the form of pydantic v2 (E1): the `type`, `msg` and `ctx` of one item in a 422 answer. For rules that zod does not know, a
 * custom zod issue carries it in its `params`.
 */
export interface PydanticIssue {
  readonly type: string;
  readonly msg: string;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

/** Makes the zod issue that carries a pydantic issue. After this zod issue, rules over several fields are not checked. */
export const issueOf = (issue: PydanticIssue, path: string[] = []) =>
  ({ code: 'custom', message: issue.msg, path, params: { pydantic: issue }, continue: false }) as const;

/** Returns the pydantic issue inside a zod issue, or undefined if `issueOf` did not make the zod issue. */
export const pydanticIssueOf = (issue: z.core.$ZodIssue): PydanticIssue | undefined =>
  issue.code === 'custom' ? issue.params?.pydantic : undefined;

/** Adds a rule to the schema of a field. `judge` returns the broken rule, if any. The JSON Schema of the field shows only its `meta`, not this rule. */
export function ruled<Schema extends z.ZodType>(schema: Schema, judge: (value: z.output<Schema>) => PydanticIssue | undefined): Schema {
  return schema.check((payload) => {
    const issue = judge(payload.value);
    if (issue) payload.issues.push({ ...issueOf(issue), input: payload.value });
  });
}

/** Makes the issue that pydantic reports if a validator raises ValueError with this sentence. */
export const valueError = (sentence: string): PydanticIssue => ({
  type: 'value_error',
  msg: `Value error, ${sentence}`,
  ctx: { error: {} },
});

/** Counts the code points of a text, like Python. The result is exact up to `most`; for a longer text it is any number above `most`. */
function codePointLength(value: string, most: number): number {
  if (value.length > 2 * most) return value.length;
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}

interface TextLimits {
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: string;
  /** Accepts hexadecimal digits in upper case and converts them to lower case. */
  readonly lowersHex?: boolean;
  /** Returns one more sentence for the message about a wrong text, if the mistake is typical (E16). */
  readonly hintFor?: (value: string) => string | undefined;
}

const notUnicode: PydanticIssue = {
  type: 'string_unicode',
  msg: 'Input should be a valid string, unable to parse raw data as a unicode string',
};

/** Makes the schema of a text with the limits of pydantic. Lengths count code points. Only the first broken rule is reported. */
export function text({ min, max, pattern, lowersHex = false, hintFor }: TextLimits = {}) {
  const expression = pattern === undefined ? undefined : new RegExp(pattern, 'u');
  const given = lowersHex ? z.string().overwrite((value) => value.replace(/[A-F]/g, (digit) => digit.toLowerCase())) : z.string();
  const judge = (value: string): PydanticIssue | undefined => {
    if (!value.isWellFormed()) return notUnicode;
    const length = min === undefined && max === undefined ? 0 : codePointLength(value, Math.max(min ?? 0, max ?? 0));
    if (min !== undefined && length < min) {
      return { type: 'string_too_short', msg: `String should have at least ${characters(min)}`, ctx: { min_length: min } };
    }
    if (max !== undefined && length > max) {
      return { type: 'string_too_long', msg: `String should have at most ${characters(max)}`, ctx: { max_length: max } };
    }
    if (expression?.test(value) === false) {
      return { type: 'string_pattern_mismatch', msg: `String should match pattern '${pattern}'`, ctx: { pattern } };
    }
    return undefined;
  };
  return ruled(given, (value) => {
    const issue = judge(value);
    const hint = issue && hintFor?.(value);
    return issue && hint !== undefined ? { ...issue, msg: `${issue.msg}. ${hint}` } : issue;
  }).meta({
    ...(min !== undefined && { minLength: min }),
    ...(max !== undefined && { maxLength: max }),
    // The documented pattern must also allow the upper-case digits that are accepted.
    ...(pattern !== undefined && { pattern: lowersHex ? pattern.replaceAll('a-f', 'a-fA-F') : pattern }),
  });
}

const characters = (count: number): string => `${count} character${count === 1 ? '' : 's'}`;

const otherHashes: Readonly<Record<number, string>> = { 32: 'an MD5', 40: 'a SHA-1', 56: 'a SHA-224', 96: 'a SHA-384', 128: 'a SHA-512' };

/**
 * Makes the hints about a hash in hexadecimal digits (E16): what to do about a typical mistake; undefined for any other text.
 *
 * @param lengths the numbers of digits that the field accepts
 * @param wanted the algorithms that the field accepts, for messages
 */
export const hashHintsFor = (lengths: readonly number[], wanted: string) => {
  const digest = lengths.map((length) => `[0-9a-f]{${length}}`).join('|');
  const [alone, prefixed, line] = [`^(${digest})$`, `^0x(${digest})$`, `^(${digest})\\s+\\*?\\S`].map((form) => new RegExp(form, 'i'));
  return (value: string): string | undefined => {
    const given = value.trim();
    if (alone?.test(given)) return given === value ? 'Write the digits a to f in lower case.' : 'Send it without spaces around it.';
    if (prefixed?.test(given)) return 'Leave out the 0x at the beginning.';
    if (/^sha-?(256|384|512)[:=-]/i.test(given)) return 'Send only the hexadecimal digits, without the name of the algorithm.';
    if (line?.test(given)) return 'Send only the hexadecimal digits of this line, without the file name.';
    const isHex = /^[0-9a-f]+$/i.test(given);
    if (!isHex && /^[\w+/-]{43}=?$/.test(given)) return 'This looks like base64: write the SHA-256 in hexadecimal digits.';
    const other = isHex ? otherHashes[given.length] : undefined;
    return other && `This looks like ${other}: send ${wanted}.`;
  };
};

const sha256Hints = hashHintsFor([64], 'a SHA-256');

export const sha256Hex = text({ min: 64, max: 64, pattern: '^[0-9a-f]{64}$', hintFor: sha256Hints }).meta({
  description: 'SHA-256, 64 lower-case hexadecimal characters',
  examples: [createHash('sha256').update('').digest('hex')],
});

/** Like `sha256Hex`, but upper case is accepted and converted to lower case. */
export const sha256HexOfAnyCase = (what: string) =>
  text({ min: 64, max: 64, pattern: '^[0-9a-f]{64}$', lowersHex: true, hintFor: sha256Hints }).meta({
    description: `SHA-256 of the ${what}, 64 hexadecimal characters; upper case is accepted and converted to lower case`,
  });

/** The maximum size of caller metadata as UTF-8 JSON, in bytes (S4). */
export const maxMetadataBytes = 4096;

/** Accepts any JSON value, except if it contains, at any depth, a number that is too large for a double, such as 1e400. */
export const anyJson = z.unknown().check((payload) => {
  const judge = (value: unknown, path: PropertyKey[]): void => {
    const number = JSON.isRawJSON(value) ? Number(value.rawJSON) : value;
    if (typeof number === 'number' && !Number.isFinite(number)) payload.issues.push({ ...issueOf(notFinite), path, input: value });
    if (typeof value === 'object' && value !== null && !JSON.isRawJSON(value)) {
      for (const [name, member] of Object.entries(value)) {
        if (payload.issues.length >= mostIssues) return;
        judge(member, [...path, Array.isArray(value) ? Number(name) : name]);
      }
    }
  };
  judge(payload.value, []);
});

const notFinite: PydanticIssue = { type: 'finite_number', msg: 'Input should be a finite number' };

/** Validation stops when it has found this many issues: a longer list in a 422 answer does not help anyone. */
const mostIssues = 1024;

/** Returns true if the JSON of an object is certainly longer than `maxMetadataBytes`. Stops reading as soon as this is certain. */
function isOversized(input: object): boolean {
  let bytes = 0;
  for (const name in input) {
    const member: unknown = (input as Record<string, unknown>)[name];
    bytes += name.length + (typeof member === 'string' ? member.length : 0) + '"":0,'.length;
    if (bytes > maxMetadataBytes) return true;
  }
  return false;
}

/**
 * Makes the schema of a caller's metadata: an object whose members all match `value`, limited in total size. Unlike `z.record`, it treats `__proto__`
 * like any other name.
 */
export function metadata<Value>(value: z.ZodType<Value>) {
  const tooLarge = issueOf(valueError(`metadata takes at most ${maxMetadataBytes} bytes as UTF-8 JSON`));
  const { $schema, ...additionalProperties } = z.toJSONSchema(value, { io: 'input' });
  return z
    .unknown()
    .transform((input, context): Record<string, Value> => {
      if (typeof input !== 'object' || input === null || Array.isArray(input)) {
        context.addIssue(issueOf({ type: 'dict_type', msg: 'Input should be a valid dictionary' }));
        return z.NEVER;
      }
      if (isOversized(input)) {
        context.addIssue(tooLarge);
        return z.NEVER;
      }
      const entries: [string, Value][] = [];
      for (const [name, given] of Object.entries(input)) {
        const result = value.safeParse(given);
        if (result.success) entries.push([name, result.data]);
        else for (const issue of result.error.issues) context.addIssue({ ...issue, path: [name, ...issue.path] });
        if (context.issues.length >= mostIssues) break;
      }
      const members = Object.fromEntries(entries);
      if (context.issues.length === 0 && Buffer.byteLength(JSON.stringify(members)) > maxMetadataBytes) context.addIssue(tooLarge);
      return members;
    })
    .meta({ type: 'object', additionalProperties, description: `at most ${maxMetadataBytes} bytes as UTF-8 JSON` });
}

/** Makes a function that keeps only those members of an answer that are not optional. */
export function alwaysThere<Schema extends z.ZodObject>(schema: Schema) {
  const names = Object.keys(schema.shape).filter((name) => !schema.shape[name]?.safeParse(undefined).success);
  return (answer: z.output<Schema>): z.output<Schema> => Object.fromEntries(names.map((name) => [name, answer[name]])) as z.output<Schema>;
}

export const uuid = z.uuid();
export const dateTime = z.iso.datetime().describe('RFC 3339, UTC');

/** Maximum length of an e-mail address, in octets (W11; RFC 5321 §4.5.3.1.3 with erratum 1690). */
const maxEmailOctets = 254;
/** Maximum length of the part before the @-sign, in octets (RFC 5321 §4.5.3.1.1). */
const maxLocalPartOctets = 64;

/** An atom: the text between two dots before the @-sign (RFC 5322 §3.2.3, RFC 6531 §3.3). */
const atom = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~\\u{80}-\\u{10ffff}-]+";
/** A dot-atom, an @-sign and a domain name. Quoted local parts, display names, comments, address literals and invisible characters do not match. */
const shape = new RegExp(`^(?!.*[\\p{Z}\\p{C}])(${atom}(?:\\.${atom})*)@([a-zA-Z0-9.\\u{80}-\\u{10ffff}-]+)$`, 'u');
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
/** A domain name in ASCII, with at least one dot and a letter at the end. */
const domainName = new RegExp(`^(?=.{1,253}$)(?:${label}\\.)+${label}(?<=[a-z])$`);

function judgeEmail(address: string): PydanticIssue | undefined {
  const [, local = '', domain = ''] = Buffer.byteLength(address) > maxEmailOctets ? [] : (shape.exec(address) ?? []);
  const isLocalPart = local !== '' && Buffer.byteLength(local) <= maxLocalPartOctets;
  if (isLocalPart && domainName.test(domainToASCII(domain) || domain)) return undefined;
  const reason = address.includes('@')
    ? `It must look like name@example.com, and have at most ${maxEmailOctets} characters.`
    : 'An email address must have an @-sign.';
  return { type: 'value_error', msg: `value is not a valid email address: ${reason}`, ctx: { reason } };
}

/** Accepts an e-mail address and does not change it. */
export const email: z.ZodType<string, string> = ruled(text(), judgeEmail).meta({
  format: 'email',
  maxLength: maxEmailOctets,
  examples: ['jane@example.com'],
});

/** These functions are part of ECMAScript 2026, but the types of TypeScript 7 do not have them yet. */
declare global {
  interface JSON {
    rawJSON(text: string): object;
    isRawJSON(value: unknown): value is { readonly rawJSON: string };
  }
}

/** Whether `JSON.parse` and then `JSON.stringify` change the characters of this number: `123456789012345678`, `1.0`, `1e400`. */
const isRewritten = (number: string): boolean => JSON.stringify(Number(number)) !== number;

const asWritten = (_name: string, value: unknown, { source }: { readonly source?: string } = {}): unknown =>
  typeof value === 'number' && source !== undefined && isRewritten(source) ? JSON.rawJSON(source) : value;

/**
 * Like `JSON.parse`, but a number that would change becomes a `JSON.rawJSON` with the characters of its sender. `JSON.stringify` writes it with these
 * characters.
 */
export const parseAsWritten = (text: string): unknown => JSON.parse(text, asWritten);
