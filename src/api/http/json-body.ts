import type { IncomingMessage } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { bulkList, mostBulkItems } from '../../shared/contract/bulk.ts';
import { parseAsWritten } from '../../shared/contract/fields.ts';
import { announcedBytes, type BodyReader } from './body-reader.ts';
import { bodyItems, missingBody, OtherBody, RequestValidationError, type ValidationItem, validationItems } from './validation.ts';

const mediaType = 'application/json';

/** A media type with its parameters (RFC 9110 §8.3.1). */
const mediaTypePattern = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(;|$)/;
/** Stands for a content type that is no media type. No route accepts it. */
const noMediaType = 'unknown/unknown';

/**
 * Replaces Fastify's parsers: a body is read as JSON if its content type is missing, `application/json` or `application/*+json`. A body of another
 * content type becomes an `OtherBody`, which breaks the contract of every operation (E8). `request.body` is undefined if the body is empty or the
 * operation takes no body. A body that is not JSON is a MalformedJsonError (E2); the reader may throw its own errors.
 */
export function registerJsonBody(app: FastifyInstance, reader: BodyReader): void {
  app.removeAllContentTypeParsers();
  // Fastify refuses a content type that is no media type before it calls a parser.
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    const given = headers['content-type'];
    if (given !== undefined && !mediaTypePattern.test(given)) headers['content-type'] = noMediaType;
    done();
  });
  app.addContentTypeParser([mediaType, '*'], async (request: FastifyRequest, payload: IncomingMessage) => {
    if (request.is404 || announcedBytes(request) === 0 || !takesBody(request)) return undefined;
    const bytes = await reader.read(request, payload);
    if (bytes.length === 0) return undefined;
    if (!isJson(request.headers['content-type'])) return new OtherBody(bytes, typesOf(request));
    return parseJsonText(bytes);
  });
}

/** Whether a route reads a body. If its contract has no body, a body is ignored. */
const takesBody = ({ routeOptions: { config } }: FastifyRequest): boolean => !config.contract || config.contract.body !== undefined;

const typesOf = ({ routeOptions: { config }, server }: FastifyRequest): readonly string[] =>
  config.contract?.bodyTypes ?? [mediaType, ...(server.hasContentTypeParser(ndjsonType) ? [ndjsonType] : [])];

function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === mediaType) return true;
  const essence = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return essence === mediaType || /^application\/[^/\s]+\+json$/.test(essence);
}

export const ndjsonType = 'application/x-ndjson';

/** The maximum size of a bulk body: room for a thousand items with the maximum of metadata, and for names and white space. */
export const bulkBodyLimit = mostBulkItems * 6 * 1024;

/** The bodies in `application/x-ndjson`: parsed lines, with the refusal of each line that is not JSON. If there are too many lines, they are not parsed. */
const bodiesOfLines = new WeakSet<readonly unknown[]>();

/** The number of lines that are parsed in one turn of the event loop. It is small because lines may be long. */
const linesPerTurn = 50;

/** Splits a body into lines and leaves out empty ones: files often end with an empty line. */
function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf('\n', start);
    const line = bytes.subarray(start, end < 0 ? bytes.length : end);
    if (line.some((octet) => octet > 0x20)) lines.push(line);
    start = end < 0 ? bytes.length : end + 1;
  }
  return lines;
}

function parseLine(line: Buffer, index: number): unknown {
  try {
    return parseJsonText(line);
  } catch (error) {
    if (!(error instanceof MalformedJsonError)) throw error;
    return new RequestValidationError(error.detail.map((item) => ({ ...item, loc: ['body', index, ...item.loc.slice(1)] })));
  }
}

/** Lets the routes of a scope read `application/x-ndjson` as well as JSON. If a line is not JSON, only this item fails. */
export function registerBulkBodies(scope: FastifyInstance, reader: BodyReader): void {
  scope.addContentTypeParser(ndjsonType, async (request: FastifyRequest, payload: IncomingMessage) => {
    const lines = linesOf(await reader.read(request, payload));
    const entries: unknown[] = lines.length > mostBulkItems ? lines : [];
    bodiesOfLines.add(entries);
    if (entries === lines) return entries;
    for (const [index, line] of lines.entries()) {
      if (index % linesPerTurn === linesPerTurn - 1) await turn();
      entries.push(parseLine(line, index));
    }
    return entries;
  });
}

/** The items of a bulk request, each with its index in the request: `entries` are valid, `faulty` has the faults of the others. */
export interface Bulk<Item> {
  readonly kind: 'json' | 'ndjson';
  readonly size: number;
  readonly entries: readonly { readonly index: number; readonly item: Item }[];
  readonly faulty: ReadonlyMap<number, readonly ValidationItem[]>;
}

/** Checks each item of a bulk request with `contract`. @throws RequestValidationError if the body is not a list of 1 to 1 000 items */
export function readBulk<Item extends z.ZodType>(request: FastifyRequest, contract: Item): Bulk<z.output<Item>> {
  const { body } = request;
  if (body === undefined || body === null) throw new RequestValidationError([missingBody]);
  const isLines = Array.isArray(body) && bodiesOfLines.has(body);
  const list = bulkList.safeParse(body instanceof OtherBody ? body.text : body);
  if (!list.success) {
    throw new RequestValidationError(isLines ? validationItems(list.error, null, ['body']) : bodyItems(list.error, request));
  }
  const entries: { index: number; item: z.output<Item> }[] = [];
  const faulty = new Map<number, readonly ValidationItem[]>();
  for (const [index, given] of list.data.entries()) {
    if (given instanceof RequestValidationError) {
      faulty.set(index, given.detail);
      continue;
    }
    const parsed = contract.safeParse(given);
    if (parsed.success) entries.push({ index, item: parsed.data });
    else faulty.set(index, validationItems(parsed.error, given, ['body', index]));
  }
  return { kind: isLines ? 'ndjson' : 'json', size: list.data.length, entries, faulty };
}

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
