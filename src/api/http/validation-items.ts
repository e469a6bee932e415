import type { z } from 'zod';
import { type PydanticIssue, pydanticIssueOf } from '../../shared/contract/fields.ts';

/** One item in `detail` of a 422, like those of pydantic v2 and FastAPI (E1). It has no `url`. */
export interface ValidationItem {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input: unknown;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

/** The maximum number of characters of a text that `input` repeats. The rest is left out, so that an answer is always small. */
export const maxEchoCharacters = 1024;
/** The maximum number of members and array items that `input` repeats, at all depths together. */
const maxEchoMembers = 256;
/** The maximum number of items in `detail`. An object could have a million wrong members. */
const maxItems = 1024;

/**
 * Converts the issues of `input`, in the order of the fields. Each `loc` begins with the parameter `loc` (`['body']`, `['query']` …). In `input`,
 * numbers may have the characters of the client (`JSON.rawJSON`).
 */
export function validationItems(error: z.core.$ZodError, input: unknown, loc: readonly (string | number)[]): ValidationItem[] {
  return error.issues.slice(0, maxItems).map((issue) => {
    const path = issue.path.filter((step) => typeof step !== 'symbol');
    const parent = valueAt(input, path.slice(0, -1));
    const isMissing = issue.code === 'invalid_type' && path.length > 0 && !hasMember(parent, path.at(-1));
    const value = valueAt(input, path);
    const { type, msg, ctx } = isMissing ? missing : inPydanticWords(issue, value);
    const echoed = isMissing ? parent : value;
    return { type, loc: [...loc, ...path], msg, input: echo(echoed), ...(ctx !== undefined && { ctx }) };
  });
}

const missing: PydanticIssue = { type: 'missing', msg: 'Field required' };

/** FastAPI's item for a body that is missing or `null`. */
export const missingBody: ValidationItem = { type: 'missing', loc: ['body'], msg: 'Field required', input: null };

const wrongTypes: Readonly<Record<string, PydanticIssue>> = {
  string: { type: 'string_type', msg: 'Input should be a valid string' },
  array: { type: 'list_type', msg: 'Input should be a valid list' },
  record: { type: 'dict_type', msg: 'Input should be a valid dictionary' },
  object: { type: 'model_attributes_type', msg: 'Input should be a valid dictionary or object to extract fields from' },
};

function tooLong(most: number, value: unknown): PydanticIssue {
  const length = Array.isArray(value) ? value.length : 0;
  const ctx = { field_type: 'List', max_length: most, actual_length: length };
  return { type: 'too_long', msg: `List should have at most ${most} items after validation, not ${length}`, ctx };
}

function inPydanticWords(issue: z.core.$ZodIssue, value: unknown): PydanticIssue {
  const carried = pydanticIssueOf(issue);
  if (carried) return carried;
  if (issue.code === 'invalid_value') {
    const expected = listOf(issue.values.map((value) => `'${String(value)}'`));
    return { type: 'enum', msg: `Input should be ${expected}`, ctx: { expected } };
  }
  if (issue.code === 'too_big' && issue.origin === 'array') return tooLong(Number(issue.maximum), value);
  const wrongType = issue.code === 'invalid_type' ? wrongTypes[issue.expected] : undefined;
  return wrongType ?? { type: 'value_error', msg: `Value error, ${issue.message}`, ctx: { error: {} } };
}

/** Joins words like this: `'a', 'b' or 'c'`. */
const listOf = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

const hasMember = (parent: unknown, name: string | number | undefined): boolean =>
  typeof parent === 'object' && parent !== null && name !== undefined && Object.hasOwn(parent, name);

function valueAt(input: unknown, path: readonly (string | number)[]): unknown {
  let value = input;
  for (const step of path) {
    value = hasMember(value, step) ? Object.getOwnPropertyDescriptor(value, step)?.value : undefined;
  }
  return value;
}

/** Makes a small copy: long texts are cut, and only the first members are kept. */
function echo(input: unknown): unknown {
  let membersLeft = maxEchoMembers;
  const copy = (value: unknown): unknown => {
    if (typeof value === 'string') return value.length > maxEchoCharacters ? value.slice(0, maxEchoCharacters) : value;
    // A number may have as many characters as a text.
    if (JSON.isRawJSON(value)) return value.rawJSON.length > maxEchoCharacters ? copy(value.rawJSON) : value;
    if (typeof value !== 'object' || value === null) return value ?? null;
    if (Array.isArray(value)) return takeSome(value.values()).map(copy);
    const entries = takeSome(Object.keys(value).values()).map((name) => [name.slice(0, maxEchoCharacters), copy(valueAt(value, [name]))]);
    return Object.fromEntries(entries);
  };
  const takeSome = <Item>(items: IterableIterator<Item>): Item[] => {
    const taken: Item[] = [];
    for (const item of items) {
      if (membersLeft <= 0) break;
      membersLeft -= 1;
      taken.push(item);
    }
    return taken;
  };
  return copy(input);
}
