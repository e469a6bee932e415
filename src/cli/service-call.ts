import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { CommandFailure, exitCodes } from './failure.ts';
import { parseJson } from './json-file.ts';

/** A request to the service. */
export interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Sent as JSON; a Blob as the bytes that it is. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a call of a service is made with: an answer of JSON, or of plain bytes. */
export interface ServiceCalls {
  /** An address of an answer as an absolute one (W13). */
  addressOf(path: string): string;
  /** @throws CommandFailure that says in one sentence why there is no such answer */
  json<Schema extends z.ZodType>(call: Call, answer: Schema): Promise<z.output<Schema>>;
  /** @throws CommandFailure as `json` */
  bytes(call: Call): Promise<BytesAnswer>;
  /** An answer of any size, as it arrives. @throws CommandFailure as `json`, also where it breaks off */
  chunks(call: Call): AsyncIterable<Uint8Array>;
}

export interface BytesAnswer {
  readonly body: Buffer;
  readonly headers: Headers;
}

interface Failed {
  readonly body: Buffer;
  readonly status: number;
  readonly retryAfterMs: number | undefined;
}

/** Statuses after which the same request may succeed: too many requests, not available now, accepted but not finished (E7, E10, E11). */
const passing = [429, 503, 504];
const mostAttempts = 5;
const mostWaitMs = 60_000;
const timeoutMs = 120_000;

const errorBody = z.object({ detail: z.unknown(), code: z.string().optional(), request_id: z.string().optional() });
const items = z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() }));

/** Calls of the service at `base`, an address without a slash at its end; what may succeed later is tried again. */
export function createServiceCalls(base: string): ServiceCalls {
  const addressOf = (path: string) => (URL.canParse(path) ? path : `${base}${path}`);

  const send = ({ method, path, body, headers }: Call, signal: AbortSignal): Promise<Response> => {
    const type = body instanceof Blob ? 'application/octet-stream' : 'application/json';
    return fetch(addressOf(path), {
      method,
      headers: { accept: 'application/json', ...(body && { 'content-type': type }), ...headers },
      ...(body && { body: body instanceof Blob ? body : JSON.stringify(body) }),
      signal,
    });
  };

  const failedOf = async (response: Response): Promise<Failed> => ({
    status: response.status,
    body: Buffer.from(await response.arrayBuffer()),
    retryAfterMs: retryAfterMs(response),
  });

  /** `read` takes what it wants of a good answer within the time limit: the body may take as long as it arrives. */
  async function attempt<Value>(call: Call, read: (response: Response) => Promise<Value>): Promise<{ readonly value: Value } | Failed> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new DOMException('no answer', 'TimeoutError')), timeoutMs);
    try {
      const response = await send(call, limit.signal);
      return response.ok ? { value: await read(response) } : await failedOf(response);
    } catch (error) {
      throw unreachable(base, error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Tries again what may succeed later. */
  async function persist<Value>(call: Call, read: (response: Response) => Promise<Value>): Promise<Value> {
    for (let attempts = 1; ; attempts += 1) {
      const answer = await attempt(call, read);
      if ('value' in answer) return answer.value;
      const waitMs = answer.retryAfterMs ?? 250 * 2 ** attempts;
      if (!passing.includes(answer.status) || attempts === mostAttempts || waitMs > mostWaitMs) throw failureOf(answer);
      await wait(waitMs);
    }
  }

  const bytes = (call: Call): Promise<BytesAnswer> =>
    persist(call, async (response) => ({ headers: response.headers, body: Buffer.from(await response.arrayBuffer()) }));

  async function* chunks(call: Call): AsyncGenerator<Uint8Array> {
    const body = await persist(call, async (response) => response.body);
    try {
      if (body) yield* body;
    } catch (error) {
      throw unreachable(base, error);
    }
  }

  return {
    addressOf,
    bytes,
    chunks,
    json: async (call, schema) => {
      const parsed = schema.safeParse(parseJson((await bytes(call)).body.toString('utf8')));
      if (parsed.success) return parsed.data;
      throw new CommandFailure(exitCodes.unavailable, `what answers at ${call.path} is not this service`);
    },
  };
}

function retryAfterMs(response: Response): number | undefined {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** The service's own sentence; of a 422 each field with what is wrong about it. */
function failureOf({ status, body }: Failed): CommandFailure {
  const { detail, code, request_id } = errorBody.safeParse(parseJson(body.toString('utf8'))).data ?? { detail: undefined };
  const faults = items.safeParse(detail).data?.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`.replace(/^: /, ''));
  const sentence = typeof detail === 'string' ? detail : (faults?.join('; ') ?? 'it gave no reason');
  const exitCode = status >= 500 || status === 429 ? exitCodes.unavailable : exitCodes.refused;
  return new CommandFailure(exitCode, `the service answered ${status}: ${sentence}`, { status, code, request_id });
}

function unreachable(base: string, error: unknown): CommandFailure {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new CommandFailure(exitCodes.unavailable, `${base} did not answer within ${timeoutMs / 1000} s`);
  }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const why = cause instanceof Error ? ('code' in cause && String(cause.code)) || cause.message : String(cause);
  return new CommandFailure(exitCodes.unavailable, `${base} cannot be reached (${why}): is the service running, and QSTAMP_URL right?`);
}
