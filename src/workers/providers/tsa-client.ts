import { type Dispatcher, errors, Pool } from 'undici';
import { readSetting, textOf } from '../../shared/runtime/config.ts';
import type { TsaSettings } from '../../shared/trust/providers-file.ts';

/** The maximum size of an answer. Responses with a time-stamp are smaller. */
const maxAnswerBytes = 64 * 1024;
const connectTimeoutMs = 2_000;
/**
 * How long an idle connection is kept if the TSA does not say. A new connection takes several round trips. Load balancers often close idle
 * connections after 60 s.
 */
const keepAliveMs = 50_000;
/** The connection is closed this much earlier than the TSA says, so that no query is sent on a connection that the TSA is closing. */
const keepAliveMarginMs = 1_000;

type TransportFault = 'unreachable' | 'timeout' | 'http_status' | 'content_type' | 'oversized' | 'cut_off';

/** A TSA that could not be reached, or whose answer is not a time-stamp response (refusal 5). */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly fault: TransportFault;
  /** Whether a retry may help: transport faults, 429 and 5xx. */
  readonly isRetryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(
    fault: TransportFault,
    detail: string,
    options: { isRetryable: boolean; retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(detail, { cause: options.cause });
    this.fault = fault;
    this.isRetryable = options.isRetryable;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Asks a TSA over HTTP (RFC 3161 §3.4). */
export interface TsaClient {
  /**
   * Sends the DER of a TimeStampReq and resolves with the body of the answer. The body is not verified. Fails after the maximum time of one exchange.
   *
   * @throws TransportError
   */
  ask(tsq: Buffer, signal: AbortSignal): Promise<Buffer>;
  close(): void;
}

type ResponseHead = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/** The value of a header; the first value if the header occurs more than once. */
const headerOf = (headers: ResponseHead, name: string): string | undefined => [headers[name]].flat()[0];

function retryAfterMsOf(headers: ResponseHead): number | undefined {
  const seconds = Number(headerOf(headers, 'retry-after'));
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
}

/** RFC 3161 §3.4 says nothing about the status. Sigstore's server answers 201, as our own `/api/v1/timestamp` does. */
const statusesTaken: ReadonlySet<number> = new Set([200, 201]);
/** The first type is that of RFC 3161 §3.4. Some TSAs write the second. */
const typesTaken: ReadonlySet<string> = new Set(['application/timestamp-reply', 'application/timestamp-response']);

function refusalOfHead(status: number, headers: ResponseHead): TransportError | undefined {
  if (!statusesTaken.has(status)) {
    const isRetryable = status === 429 || status >= 500;
    return new TransportError('http_status', `the TSA answered HTTP ${status}`, { isRetryable, retryAfterMs: retryAfterMsOf(headers) });
  }
  const type = (headerOf(headers, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (!typesTaken.has(type ?? '')) {
    return new TransportError('content_type', `the TSA answered with content type "${type}"`, { isRetryable: false });
  }
  return undefined;
}

const noTimeLeft = (cause: unknown) => new TransportError('timeout', 'no answer in time', { isRetryable: false, cause });

/** The error for an exchange that was cut off. `hasHead`: whether the answer had begun. */
function faultOf(error: Error, hasHead: boolean): TransportError {
  if (error instanceof errors.ConnectTimeoutError)
    return new TransportError('timeout', 'no connection in time', { isRetryable: true, cause: error });
  return new TransportError(hasHead ? 'cut_off' : 'unreachable', 'the exchange failed', { isRetryable: true, cause: error });
}

/** Reads one answer of at most `maxAnswerBytes`, and settles once: later data is dropped with its connection. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #settle: PromiseWithResolvers<Buffer>;
  readonly #parts: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #fault: TransportError | undefined;
  #bytes = 0;
  #hasHead = false;

  constructor(settle: PromiseWithResolvers<Buffer>) {
    this.#settle = settle;
  }

  fail(fault: TransportError): void {
    this.#fault ??= fault;
    this.#settle.reject(fault);
    this.#controller?.abort(fault);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // If this throws, the connection stays open; an abort would close it.
    if (this.#fault) throw this.#fault;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: ResponseHead): void {
    if (status < 200) return;
    this.#hasHead = true;
    const fault = refusalOfHead(status, headers);
    if (fault) this.fail(fault);
  }

  onResponseData(_controller: Dispatcher.DispatchController, part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes <= maxAnswerBytes) this.#parts.push(part);
    else this.fail(new TransportError('oversized', `the answer is larger than ${maxAnswerBytes} bytes`, { isRetryable: false }));
  }

  onResponseEnd(): void {
    const [first, ...others] = this.#parts;
    const whole = first && others.length === 0 ? first : Buffer.concat(this.#parts);
    this.#settle.resolve(whole);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(faultOf(error, this.#hasHead));
  }
}

/** `maxConcurrent`: the maximum number of connections. `timeoutMs`: the maximum time of one exchange, in milliseconds. */
export function createTsaClient(options: { url: string; credentials: Credentials; maxConcurrent: number; timeoutMs: number }): TsaClient {
  const { credentials, maxConcurrent, timeoutMs } = options;
  const { origin, pathname, search, username, password } = new URL(options.url);
  const pool = new Pool(origin, {
    connections: maxConcurrent,
    allowH2: false,
    // The exchange as a whole has its own timeout.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    keepAliveTimeoutThreshold: keepAliveMarginMs,
    connect: { timeout: connectTimeoutMs, ...credentials.clientCertificate },
  });
  const userInfo = [username, password].map(decodeURIComponent).join(':');
  const headers = {
    'content-type': 'application/timestamp-query',
    accept: 'application/timestamp-reply',
    ...(userInfo !== ':' && { authorization: `Basic ${Buffer.from(userInfo).toString('base64')}` }),
    ...credentials.headers,
  };
  const request = { path: `${pathname}${search}`, method: 'POST', headers } as const;

  return {
    ask: async (tsq, signal) => {
      if (signal.aborted) throw noTimeLeft(signal.reason);
      const settle = Promise.withResolvers<Buffer>();
      const handler = new Exchange(settle);
      const onAbort = () => handler.fail(noTimeLeft(signal.reason));
      const timer = setTimeout(() => handler.fail(noTimeLeft(undefined)), timeoutMs);
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        pool.dispatch({ ...request, body: tsq }, handler);
        return await settle.promise;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      }
    },
    close: () => void pool.destroy(),
  };
}

/** How a worker authenticates to a TSA: headers of each request, or a TLS certificate. */
interface Credentials {
  readonly headers?: Readonly<Record<string, string>>;
  readonly clientCertificate?: { readonly cert: string; readonly key: string };
}

/**
 * Reads the secrets of a provider from the files in its entry.
 *
 * @throws ConfigError that names the provider and the member if a file cannot be read
 */
export function readCredentials({ name, auth }: TsaSettings): Credentials {
  const secret = (file: string, member: string) => readSetting(`TSP_PROVIDERS_FILE: (${name}).auth.${member}: "${file}"`, file, textOf);
  switch (auth.type) {
    case 'none':
      return {};
    case 'basic': {
      const userInfo = `${auth.username}:${secret(auth.password_file, 'password_file')}`;
      return { headers: { authorization: `Basic ${Buffer.from(userInfo).toString('base64')}` } };
    }
    case 'bearer':
      return { headers: { authorization: `Bearer ${secret(auth.token_file, 'token_file')}` } };
    case 'client_certificate': {
      const cert = secret(auth.certificate_file, 'certificate_file');
      return { clientCertificate: { cert, key: secret(auth.key_file, 'key_file') } };
    }
  }
}
