import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { maxEchoCharacters, missingBody, type ValidationItem, validationItems } from './validation-items.ts';

/** A request breaks its contract. The answer is 422 with the items in `detail`. */
export class RequestValidationError extends Error {
  override readonly name = 'RequestValidationError';
  readonly detail: readonly ValidationItem[];

  constructor(detail: readonly ValidationItem[]) {
    super('the request breaks its contract');
    this.detail = detail;
  }
}

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

/** The parts of a request in FastAPI's order. `locations` has their names in `loc`. */
const parts = ['path', 'query', 'headers', 'body'] as const;
const locations = { path: 'path', query: 'query', headers: 'header', body: 'body' } as const;

const inputs: { readonly [Part in (typeof parts)[number]]: (request: FastifyRequest) => unknown } = {
  path: (request) => named(request.params),
  query: (request) => lastOfEach(request.query),
  headers: (request) => request.headers,
  body: ({ body }) => (body instanceof OtherBody ? body.text : body),
};

const writtenBodies = new WeakMap<FastifyRequest, unknown>();

/** Notes the form of a body in which numbers have the characters of the client: a 422 repeats them. */
export const noteWrittenBody = (request: FastifyRequest, written: unknown): void => void writtenBodies.set(request, written);

/** The body of a request, in which numbers have the characters of the client. */
export const writtenBodyOf = (request: FastifyRequest): unknown =>
  writtenBodies.has(request) ? writtenBodies.get(request) : inputs.body(request);

/** Makes the items of a 422 for the body of a request. If the body has the wrong content type, each item also names the right one (E8). */
export function bodyItems(error: z.core.$ZodError, request: FastifyRequest): ValidationItem[] {
  const items = validationItems(error, writtenBodyOf(request), ['body']);
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
  const steps = parts.flatMap((part) => {
    const schema = contract[part];
    return schema === undefined ? [] : [{ part, schema, read: inputs[part], loc: [locations[part]] }];
  });

  return (request) => {
    const parsed: Partial<Record<(typeof parts)[number], unknown>> = {};
    let detail: ValidationItem[] | undefined;
    for (const { part, schema, read, loc } of steps) {
      const input = read(request);
      if (part === 'body' && (input === undefined || input === null)) {
        detail = [...(detail ?? []), missingBody];
        continue;
      }
      const result = schema.safeParse(input);
      if (result.success) parsed[part] = result.data;
      else
        detail = [...(detail ?? []), ...(part === 'body' ? bodyItems(result.error, request) : validationItems(result.error, input, loc))];
    }
    if (detail !== undefined) throw new RequestValidationError(detail);
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
