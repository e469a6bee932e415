import { errorOf, QstampError, ServiceUnreachable, UnexpectedAnswer } from './errors.ts';

/** How requests are sent, and sent again. */
export interface ExchangeOptions {
  /** Where the service is; a path in front of its own is allowed. */
  readonly url: string;
  /** For one try, in ms; 60 000 unless told. */
  readonly timeoutMs?: number;
  /** Tries after the first; 4 unless told. */
  readonly maxRetries?: number;
  /** Who is told to wait longer than this gives up at once, in ms; 60 000 unless told. */
  readonly maxWaitMs?: number;
  /** Instead of the global one. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** An answer of JSON, as it came. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly retryAfterMs: number | undefined;
}

export interface Exchange {
  readonly baseUrl: string;
  /** How long the service may be asked to wait before it answers, in s: one try is given up soon after. */
  readonly waitSeconds: number;
  /** The answer of a call that succeeded. @throws ServiceError and its kinds, ServiceUnreachable, UnexpectedAnswer */
  send<T extends object>(call: Call): Promise<T>;
  /** The answers to a list, in its order; it is sent again while some are on their way. @throws as `send`, where all were refused as one */
  sendList(call: Call): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** After these the same request may succeed; each carries a key or only reads, so that nothing is done twice. */
const passing = [408, 429, 503, 504];
const firstBackOffMs = 250;
const longestWaitSeconds = 10;

/** A wait that a Retry-After asks for, in ms: seconds, or a date (RFC 9110 §10.2.3). */
function retryAfterMs(headers: Headers): number | undefined {
  const told = headers.get('retry-after');
  if (told === null) return undefined;
  const ms = /^\d+$/.test(told) ? Number(told) * 1000 : Date.parse(told) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** @throws the signal's reason when it is aborted meanwhile */
export function waitFor(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

export function createExchange(options: ExchangeOptions): Exchange {
  const { timeoutMs = 60_000, maxRetries = 4, maxWaitMs = 60_000 } = options;
  const baseUrl = options.url.replace(/\/+$/, '');
  if (!/^https?:\/\//.test(baseUrl)) throw new QstampError(`url must begin with https:// or http://: ${options.url}`);

  async function attempt({ method, path, headers, body, signal }: Call): Promise<Answer> {
    const send = options.fetch ?? globalThis.fetch;
    const limits = [AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])];
    const response = await send(`${baseUrl}${path}`, {
      method,
      headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.any(limits),
    });
    return { status: response.status, body: parsed(await response.text()), retryAfterMs: retryAfterMs(response.headers) };
  }

  /** An error: no answer came, for a reason that may pass. @throws the reason of the caller's own signal */
  async function attemptOrCause(call: Call): Promise<Answer | Error> {
    try {
      return await attempt(call);
    } catch (error) {
      if (call.signal?.aborted) throw error;
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  /** Waits for the next try; false: there is none. */
  async function pause(attempts: number, retryAfter: number | undefined, signal?: AbortSignal): Promise<boolean> {
    // A Retry-After is kept; without one clients that failed together shall not come back together.
    const waitMs = retryAfter ?? firstBackOffMs * 2 ** attempts * (0.5 + Math.random() / 2);
    if (attempts >= maxRetries || waitMs > maxWaitMs) return false;
    await waitFor(waitMs, signal);
    return true;
  }

  /** Asks until the answer is one to keep, or there is no next try. */
  async function ask(call: Call, mayPass: (answer: Answer) => boolean): Promise<Answer> {
    for (let attempts = 0; ; attempts += 1) {
      const answer = await attemptOrCause(call);
      if (answer instanceof Error) {
        if (await pause(attempts, undefined, call.signal)) continue;
        throw new ServiceUnreachable(`${baseUrl} cannot be reached: ${causeOf(answer)}`, { cause: answer });
      }
      if (!mayPass(answer) || !(await pause(attempts, answer.retryAfterMs, call.signal))) return answer;
    }
  }

  const refusalOf = ({ status, body, retryAfterMs: ms }: Answer) =>
    errorOf({ status, body: isObject(body) ? body : {}, retryAfterSeconds: ms === undefined ? undefined : ms / 1000 });
  const stranger = ({ path }: Call) => new UnexpectedAnswer(`what answers at ${baseUrl}${path} is not this service`);

  return {
    baseUrl,
    waitSeconds: Math.min(longestWaitSeconds, Math.floor(timeoutMs / 2_000)),
    async send<T extends object>(call: Call): Promise<T> {
      const answer = await ask(call, isPassing);
      if (!isSuccess(answer)) throw refusalOf(answer);
      if (!isObject(answer.body)) throw stranger(call);
      return answer.body as T;
    },
    async sendList(call) {
      const answer = await ask(call, (each) => isPassing(each) || isUnfinished(each));
      // A list of which nothing is finished comes with 504: each item names its address.
      if (Array.isArray(answer.body)) return answer.body.filter(isObject);
      throw isSuccess(answer) ? stranger(call) : refusalOf(answer);
    },
  };
}

const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300;

/** A proxy in front of the service says 502 without a code. */
const isPassing = ({ status, body }: Answer): boolean => passing.includes(status) || (status === 502 && !isObject(body));

const isUnfinished = ({ body }: Answer): boolean =>
  Array.isArray(body) && body.some((item) => isObject(item) && item.code === 'stamp_pending');

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What fetch hides behind "fetch failed". */
const causeOf = ({ message, cause }: Error): string => (cause instanceof Error ? cause.message || String(cause) : message);
