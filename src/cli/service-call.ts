import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { CommandFailure, exitCodes } from './failure.ts';
import { parseJson } from './json-file.ts';

/** A request to the service. */
export interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
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
}

export interface BytesAnswer {
  readonly body: Buffer;
  readonly headers: Headers;
}

interface Answer extends BytesAnswer {
  readonly ok: boolean;
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

  async function attempt({ method, path, body, headers }: Call): Promise<Answer> {
    try {
      const response = await fetch(addressOf(path), {
        method,
        headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...headers },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const { ok, status, headers: told } = response;
      return { ok, status, headers: told, body: Buffer.from(await response.arrayBuffer()), retryAfterMs: retryAfterMs(response) };
    } catch (error) {
      throw unreachable(base, error);
    }
  }

  async function bytes(call: Call): Promise<BytesAnswer> {
    for (let attempts = 1; ; attempts += 1) {
      const answer = await attempt(call);
      if (answer.ok) return answer;
      const waitMs = answer.retryAfterMs ?? 250 * 2 ** attempts;
      if (!passing.includes(answer.status) || attempts === mostAttempts || waitMs > mostWaitMs) throw failureOf(answer);
      await wait(waitMs);
    }
  }

  return {
    addressOf,
    bytes,
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
function failureOf({ status, body }: Answer): CommandFailure {
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
