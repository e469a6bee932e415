import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { type PydanticIssue, pydanticIssueOf } from '../../shared/contract/fields.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';

/** A request breaks its contract. The answer is 422 with the items in `detail`. */
export class RequestValidationError extends Error {
  override readonly name = 'RequestValidationError';
  readonly detail: readonly ValidationItem[];

  constructor(detail: readonly ValidationItem[]) {
    super('the request breaks its contract');
    this.detail = detail;
  }
}

/** The maximum length of an input that a 422 repeats as it is, in characters of JSON, and of a text of a larger one. */
const maxEchoCharacters = 1024;

/** UTF-8 needs at most three octets for each character that a 422 repeats. */
const shownBytes = 3 * maxEchoCharacters;

/** A body whose content type the route does not accept. Like FastAPI, we judge it as a text (E8). Only its beginning is kept, for the 422. */
export class OtherBody {
  readonly text: string;
  /** One sentence with the content types that the route accepts. */
  readonly hint: string;

  constructor(bytes: Buffer, types: readonly string[]) {
    this.text = bytes.toString('utf8', 0, shownBytes);
    this.hint = `Send Content-Type: ${types.join(' or ')}.`;
  }
}

/** The contract of a request: a schema for each part that the operation reads. */
export interface RequestContract {
  readonly path?: z.ZodType;
  readonly query?: z.ZodType;
  readonly headers?: z.ZodType;
  readonly body?: z.ZodType;
}

type ParsedRequest<Contract extends RequestContract> = {
  readonly [Part in keyof Contract]: Contract[Part] extends z.ZodType ? z.output<Contract[Part]> : undefined;
};

/** The parts of a request in FastAPI's order: the name of each in `loc`, and its input. */
const parts: Readonly<Record<keyof RequestContract, { readonly loc: string; readonly read: (request: FastifyRequest) => unknown }>> = {
  path: { loc: 'path', read: ({ params }) => named(params) },
  query: { loc: 'query', read: ({ query }) => lastOfEach(query) },
  headers: { loc: 'header', read: ({ headers }) => headers },
  body: { loc: 'body', read: ({ body }) => (body instanceof OtherBody ? body.text : body) },
};

/** Makes the items of a 422 for the body of a request. If the body has the wrong content type, each item also names the right one (E8). */
export function bodyItems(error: z.core.$ZodError, request: FastifyRequest): ValidationItem[] {
  const items = validationItems(error, parts.body.read(request), ['body']);
  const { body } = request;
  return body instanceof OtherBody ? items.map((item) => ({ ...item, msg: `${item.msg}. ${body.hint}` })) : items;
}

/** Answers 404 if a path parameter is empty, like FastAPI's router. Fastify's router accepts an empty parameter. */
function named(params: unknown): unknown {
  const isEmpty = typeof params === 'object' && params !== null && Object.values(params).includes('');
  if (isEmpty) throw new ServiceError('not_found', 'There is nothing at this address.');
  return params;
}

/** If a query parameter is repeated, the last one counts. */
function lastOfEach(query: unknown): Record<string, unknown> {
  const entries = typeof query === 'object' && query !== null ? Object.entries(query) : [];
  return Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value.at(-1) : value]));
}

/**
 * Creates a parser for the parts of a request that the contract contains.
 *
 * @throws RequestValidationError with the issues of all parts: path, query, headers and body, each in the order of its fields
 */
export function createRequestParser<const Contract extends RequestContract>(
  contract: Contract,
): (request: FastifyRequest) => ParsedRequest<Contract> {
  const steps = (Object.keys(parts) as (keyof RequestContract)[]).filter((part) => contract[part] !== undefined);
  return (request) => {
    const parsed: Partial<Record<keyof RequestContract, unknown>> = {};
    const detail: ValidationItem[] = [];
    for (const part of steps) {
      const { loc, read } = parts[part];
      const input = read(request);
      const result = part === 'body' && (input === undefined || input === null) ? undefined : contract[part]!.safeParse(input);
      if (result?.success) parsed[part] = result.data;
      else if (!result) detail.push(missingBody);
      else detail.push(...(part === 'body' ? bodyItems(result.error, request) : validationItems(result.error, input, [loc])));
    }
    if (detail.length > 0) throw new RequestValidationError(detail);
    return parsed as ParsedRequest<Contract>;
  };
}

/**
 * Checks the path parameters before any route runs. If one is wrong, no workflow or stamp can be looked up, so no token can be checked: the answer is
 * then 422 with all faults of the request (E1). Register it before the routes.
 */
export function registerPathRule(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const contract = route.config?.contract;
    const path = contract?.path;
    if (!path) return;
    const parse = createRequestParser(contract);
    route.preHandler = [
      async (request: FastifyRequest) => void (path.safeParse(request.params).success || parse(request)),
      ...[route.preHandler ?? []].flat(),
    ];
  });
}

/** One item in `detail` of a 422, like those of pydantic v2 and FastAPI (E1). It has no `url`. */
export interface ValidationItem {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input: unknown;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

/** The maximum number of items in `detail`. An object could have a million wrong members. */
const maxItems = 1024;

/** Converts the issues of `input`, in the order of the fields. Each `loc` begins with the parameter `loc` (`['body']`, `['query']` …). */
export function validationItems(error: z.core.$ZodError, input: unknown, loc: readonly (string | number)[]): ValidationItem[] {
  const isSmall = (JSON.stringify(input) ?? '').length <= maxEchoCharacters;
  return error.issues.slice(0, maxItems).map((issue) => {
    const path = issue.path.filter((step) => typeof step !== 'symbol');
    const parent = valueAt(input, path.slice(0, -1));
    const isMissing = issue.code === 'invalid_type' && path.length > 0 && !hasMember(parent, path.at(-1));
    const value = valueAt(input, path);
    const { type, msg, ctx } = isMissing ? missing : inPydanticWords(issue, value);
    const wrong = (isMissing ? parent : value) ?? null;
    return { type, loc: [...loc, ...path], msg, input: isSmall ? wrong : cut(wrong), ...(ctx !== undefined && { ctx }) };
  });
}

const missing: PydanticIssue = { type: 'missing', msg: 'Field required' };

/** FastAPI's item for a body that is missing or `null`. */
export const missingBody: ValidationItem = { type: 'missing', loc: ['body'], msg: 'Field required', input: null };

const wrongTypes: Readonly<Record<string, PydanticIssue>> = {
  string: { type: 'string_type', msg: 'Input should be a valid string' },
  array: { type: 'list_type', msg: 'Input should be a valid list' },
  stringbool: { type: 'bool_parsing', msg: 'Input should be a valid boolean, unable to interpret input' },
  record: { type: 'dict_type', msg: 'Input should be a valid dictionary' },
  object: { type: 'model_attributes_type', msg: 'Input should be a valid dictionary or object to extract fields from' },
};

function inPydanticWords(issue: z.core.$ZodIssue, value: unknown): PydanticIssue {
  const carried = pydanticIssueOf(issue);
  if (carried) return carried;
  if (issue.code === 'invalid_value' && 'expected' in issue) return wrongTypes.stringbool!;
  if (issue.code === 'invalid_value') {
    const expected = listOf(issue.values.map((value) => `'${String(value)}'`));
    return { type: 'enum', msg: `Input should be ${expected}`, ctx: { expected } };
  }
  if (issue.code === 'too_big' && Array.isArray(value)) {
    const ctx = { field_type: 'List', max_length: Number(issue.maximum), actual_length: value.length };
    return { type: 'too_long', msg: `List should have at most ${ctx.max_length} items after validation, not ${ctx.actual_length}`, ctx };
  }
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

/** Of a large input, texts are cut, and lists and objects are shown empty. */
function cut(input: unknown): unknown {
  if (typeof input === 'string') return input.slice(0, maxEchoCharacters);
  if (typeof input !== 'object' || input === null) return input;
  return Array.isArray(input) ? [] : {};
}
