import { readStream } from './content.ts';
import { errorOf, QstampError, type ServiceError, ServiceUnreachable, UnexpectedAnswer } from './errors.ts';
import { builtin, environmentVariable } from './runtime.ts';
import { version } from './version.ts';

/** How to send requests, with retries. */
export interface ExchangeOptions {
  /** The base URL of the service; it may have a path. By default, the environment variable `QSTAMP_URL`. */
  readonly url?: string | undefined;
  /** The maximum time of one try, in ms; default 60 000. For a stream, only the time until the answer begins. */
  readonly timeout?: number | undefined;
  /** The maximum number of tries after the first; default 4. */
  readonly maxRetries?: number | undefined;
  /**
   * The maximum wait before a retry, in ms; default 60 000. If the service asks for a longer wait, the call fails at once. If no answer comes, no new
   * try begins after this time.
   */
  readonly maxWait?: number | undefined;
  /** Used instead of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Headers of every request, for example for a gateway. */
  readonly defaultHeaders?: Readonly<Record<string, string>> | undefined;
  /** Called after each try, for logs. If it throws, the call goes on, and the error is written to the console. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined;
}

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Replaces that of the client. */
  readonly timeout?: number | undefined;
  /** Replaces that of the client. */
  readonly maxRetries?: number | undefined;
  /** More headers of this request. They replace others of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A try of a call, for logs. It has no token, content or e-mail address. */
export interface Attempt {
  readonly method: string;
  /** Without the base URL, and without the query. */
  readonly path: string;
  /** The number of the try, from 1. */
  readonly attempt: number;
  readonly durationMs: number;
  /** Undefined if no answer came. */
  readonly status?: number;
  /** The id of the request in the logs of the service. */
  readonly requestId?: string | undefined;
  /** The code or the name of the error if no answer came, such as `ECONNREFUSED` or `TimeoutError`. */
  readonly error?: string;
}

/** The HTTP response that an answer came in. */
export interface LastResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The id of the request in the logs of the service. */
  readonly requestId: string | undefined;
}

/** An answer of the service, with its HTTP response. `lastResponse` is not enumerable, so JSON of the answer does not contain it. */
export type Answered<T> = T & { readonly lastResponse: LastResponse };

export interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; a Blob is sent as its bytes. */
  readonly body?: unknown;
  readonly options?: CallOptions | undefined;
}

/** An answer. An answer with an error is JSON or a proxy's page, even if another format was requested. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** Reads the body of a successful answer, within the time of the try. */
type Read = (response: Response) => Promise<unknown>;

export interface Exchange {
  readonly baseUrl: string;
  /** The longest wait to ask the service for in one request, in s. It is shorter than the time of a try. */
  readonly waitSeconds: number;
  /** Sends a call and returns the body of a successful answer. @throws ServiceError or one of its subclasses, ServiceUnreachable, UnexpectedAnswer */
  send<T extends object>(call: Call): Promise<Answered<T>>;
  /**
   * Sends a list and returns the answer to each item, in the order of the list. Retries while some are in progress.
   *
   * @throws like `send`, if the whole list was refused
   */
  sendList(call: Call): Promise<readonly Answered<Readonly<Record<string, unknown>>>[]>;
  /** Returns the answer as bytes, with its headers. @throws like `send` */
  fetchBytes(call: Call): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly headers: Headers }>;
  /** Yields the answer as bytes in parts, for an answer of any size. @throws like `send`; ServiceUnreachable if the connection breaks */
  fetchPieces(call: Call): AsyncGenerator<Uint8Array>;
}

/** After these statuses the same request may succeed later. A retry is safe, because each request has an idempotency key or only reads. */
const passing = [408, 429, 503, 504];
const firstBackOffMs = 250;
const longestWaitSeconds = 10;

/** The wait that Retry-After asks for, in ms. The header has seconds or a date (RFC 9110 §10.2.3). */
function retryAfterMs(headers: Headers): number | undefined {
  const told = headers.get('retry-after');
  if (told === null) return undefined;
  const ms = /^\d+$/.test(told) ? Number(told) * 1000 : Date.parse(told) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** Waits. @throws the signal's reason if it is aborted meanwhile */
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
  const { timeout = 60_000, maxRetries = 4, maxWait = 60_000, url = environmentVariable('QSTAMP_URL') } = options;
  if (url === undefined) throw new QstampError('the address of the service is missing: give `url`, or set QSTAMP_URL');
  const baseUrl = url.replace(/\/+$/, '');
  if (!/^https?:\/\//.test(baseUrl)) throw new QstampError(`url must begin with https:// or http://: ${url}`);
  // Errors show the address.
  if (/^https?:\/\/[^/?#]*@/.test(baseUrl))
    throw new QstampError('url must not have a user or a password; give a header in `defaultHeaders`');

  function headersOf({ headers, body, options: { headers: own } = {} }: Call): Headers {
    const all = new Headers({ accept: 'application/json' });
    // Browsers have a User-Agent of their own.
    if (builtin) all.set('user-agent', `qstamp-typescript/${version}`);
    if (body !== undefined) all.set('content-type', body instanceof Blob ? 'application/octet-stream' : 'application/json');
    for (const each of [options.defaultHeaders, headers, own]) {
      for (const [name, value] of Object.entries(each ?? {})) setHeader(all, name, value);
    }
    return all;
  }

  async function attempt(call: Call, headers: Headers, read: Read): Promise<Answer> {
    const { method, path, body, options: { signal, timeout: timeoutMs = timeout } = {} } = call;
    const send = options.fetch ?? globalThis.fetch;
    // AbortSignal.timeout is not used, because it could not be stopped, and a download may take longer than a try.
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new DOMException(`no answer within ${timeoutMs / 1000} s`, 'TimeoutError')), timeoutMs);
    try {
      const response = await send(`${baseUrl}${path}`, {
        method,
        headers,
        ...(body !== undefined && { body: body instanceof Blob ? body : JSON.stringify(body) }),
        signal: AbortSignal.any([limit.signal, ...(signal ? [signal] : [])]),
        // Redirects are not followed, so that a service token is never sent to another server.
        redirect: 'manual',
      });
      return { status: response.status, headers: response.headers, body: await (response.ok ? read : readJson)(response) };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Returns an Error if no answer came; then a retry may help. */
  async function attemptOrCause(call: Call, headers: Headers, read: Read): Promise<Answer | Error> {
    try {
      return await attempt(call, headers, read);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  /** Waits until the next try. Returns false without waiting if no try is left or the wait would be too long. */
  async function pause(attempt: number, retryAfter: number | undefined, own: CallOptions = {}): Promise<boolean> {
    // Retry-After decides. Without it, a random pause separates clients that failed together.
    const waitMs = retryAfter ?? firstBackOffMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
    if (attempt > (own.maxRetries ?? maxRetries) || waitMs > maxWait) return false;
    await waitFor(waitMs, own.signal);
    return true;
  }

  const unreachable = (cause: Error) => new ServiceUnreachable(`${baseUrl} cannot be reached: ${causeOf(cause)}`, { cause });

  function report({ method, path }: Call, attempt: number, durationMs: number, answer: Answer | Error): void {
    const outcome = answer instanceof Error ? { error: codeOf(answer) } : { status: answer.status, requestId: requestIdOf(answer.headers) };
    const told = { method, path: withoutQuery(path), attempt, durationMs, ...outcome };
    // The stamp may have been made: a fault in the caller's logs must not lose it.
    new Promise((resolve) => resolve(options.onAttempt?.(told))).catch((error) => console.error('onAttempt failed:', error));
  }

  /** Retries until the answer is final or no try is left. @throws the reason of the caller's own signal */
  async function ask(call: Call, mayPass: (answer: Answer) => boolean, read: Read = readJson): Promise<Answer> {
    const headers = headersOf(call);
    const began = performance.now();
    for (let attempt = 1; ; attempt += 1) {
      const triedAt = performance.now();
      const answer = await attemptOrCause(call, headers, read);
      report(call, attempt, performance.now() - triedAt, answer);
      if (answer instanceof Error) {
        call.options?.signal?.throwIfAborted();
        // If no answer came for so long, a retry is unlikely to succeed.
        if (performance.now() - began < maxWait && (await pause(attempt, undefined, call.options))) continue;
        throw unreachable(answer);
      }
      if (!mayPass(answer) || !(await pause(attempt, retryAfterMs(answer.headers), call.options))) return answer;
    }
  }

  /** Like `ask`, but only returns a successful answer. @throws ServiceError or one of its subclasses */
  async function askForSuccess(call: Call, read?: Read): Promise<Answer> {
    const answer = await ask(call, isPassing, read);
    if (isSuccess(answer)) return answer;
    throw refusalOf(answer);
  }

  const stranger = ({ path }: Call) => new UnexpectedAnswer(`the server at ${baseUrl}${withoutQuery(path)} is not this service`);

  return {
    baseUrl,
    waitSeconds: Math.min(longestWaitSeconds, Math.floor(timeout / 2_000)),
    async send<T extends object>(call: Call): Promise<Answered<T>> {
      const answer = await askForSuccess(call);
      if (!isObject(answer.body)) throw stranger(call);
      return answered(answer.body as T, answer);
    },
    async sendList(call) {
      const answer = await ask(call, (each) => isPassing(each) || isUnfinished(each));
      // If no item of a list is finished, the status is 504, but the body is still a list with an address for each item.
      if (Array.isArray(answer.body)) return answer.body.filter(isObject).map((item) => answered(item, answer));
      throw isSuccess(answer) ? stranger(call) : refusalOf(answer);
    },
    async fetchBytes(call) {
      const { body, headers } = await askForSuccess(call, async (response) => new Uint8Array(await response.arrayBuffer()));
      return { bytes: body as Uint8Array<ArrayBuffer>, headers };
    },
    async *fetchPieces(call) {
      const { body } = await askForSuccess(call, async (response) => response.body);
      try {
        if (body) yield* readStream(body as ReadableStream<Uint8Array>);
      } catch (error) {
        if (call.options?.signal?.aborted) throw error;
        throw new ServiceUnreachable(`the answer of ${baseUrl} broke off: ${causeOf(error as Error)}`, { cause: error });
      }
    },
  };
}

/** @throws QstampError without the value, which may be a token */
function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    throw new QstampError(`the header ${name} has a value that cannot be sent`);
  }
}

const readJson: Read = async (response) => parsed(await response.text());

function refusalOf({ status, body, headers }: Answer): ServiceError {
  const waitMs = retryAfterMs(headers);
  return errorOf({
    status,
    body: isObject(body) ? body : {},
    retryAfterSeconds: waitMs === undefined ? undefined : waitMs / 1000,
    requestId: requestIdOf(headers),
  });
}

const requestIdOf = (headers: Headers): string | undefined => headers.get('x-request-id') ?? undefined;

const answered = <T extends object>(body: T, { status, headers }: Answer): Answered<T> =>
  Object.defineProperty(body, 'lastResponse', { value: { status, headers, requestId: requestIdOf(headers) } }) as Answered<T>;

const withoutQuery = (path: string): string => path.split('?', 1)[0] ?? path;

const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300;

/** Whether a retry may help. A 502 without JSON comes from a proxy in front of the service, which may work again soon. */
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

/** The code of the cause, or else the name of the error. A message may contain a header, and so a token. */
function codeOf({ name, cause }: Error & { cause?: unknown }): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : name;
}

/** The message of the cause behind "fetch failed". If several IP addresses were tried, there is only a code. */
function causeOf({ message, cause }: Error & { cause?: unknown }): string {
  if (!(cause instanceof Error)) return message;
  return cause.message || ('code' in cause ? String(cause.code) : String(cause));
}
