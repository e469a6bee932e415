import { type Dispatcher, EnvHttpProxyAgent, errors } from 'undici';
import { isOnThisMachine } from '../../shared/domain/addresses.ts';
import { ConfigError, readSetting, textOf } from '../../shared/runtime/config.ts';
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
    { isRetryable = false, retryAfterMs, cause }: { isRetryable?: boolean; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(detail, { cause });
    this.fault = fault;
    this.isRetryable = isRetryable;
    this.retryAfterMs = retryAfterMs;
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

/** The value of a header; the first value if the header occurs more than once. */
const headerOf = (headers: Headers, name: string): string | undefined => [headers[name]].flat()[0];
type Headers = Dispatcher.ResponseData['headers'];

/** RFC 3161 §3.4 says nothing about the status. Sigstore's server answers 201, as our own `/api/v1/timestamp` does. */
const statusesTaken: ReadonlySet<number> = new Set([200, 201]);
/** The first type is that of RFC 3161 §3.4. Some TSAs write the second. */
const typesTaken: ReadonlySet<string> = new Set(['application/timestamp-reply', 'application/timestamp-response']);

/** @throws TransportError for an answer that is no time-stamp response */
function checkHead({ statusCode, headers }: Dispatcher.ResponseData): void {
  if (!statusesTaken.has(statusCode)) {
    const isRetryable = statusCode === 429 || statusCode >= 500;
    const seconds = Number(headerOf(headers, 'retry-after'));
    const retryAfterMs = seconds >= 0 && Number.isFinite(seconds) ? seconds * 1_000 : undefined;
    throw new TransportError('http_status', `the TSA answered HTTP ${statusCode}`, { isRetryable, retryAfterMs });
  }
  const type = (headerOf(headers, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (typesTaken.has(type ?? '')) return;
  throw new TransportError('content_type', `the TSA answered with content type "${type}"`);
}

/** Reads the body of an answer. If it is refused, its connection is closed. */
async function readAnswer(answer: Dispatcher.ResponseData): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    checkHead(answer);
    for await (const part of answer.body) {
      bytes += part.length;
      if (bytes > maxAnswerBytes) throw new TransportError('oversized', `the answer is larger than ${maxAnswerBytes} bytes`);
      parts.push(part);
    }
    return Buffer.concat(parts);
  } catch (error) {
    answer.body.on('error', () => undefined).destroy();
    throw error;
  }
}

/** undici reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY. `maxConcurrent`: the maximum number of connections. `timeoutMs`: the maximum time of one exchange, in milliseconds. */
export function createTsaClient(options: { url: string; credentials: Credentials; maxConcurrent: number; timeoutMs: number }): TsaClient {
  const { credentials, maxConcurrent, timeoutMs } = options;
  const url = new URL(options.url);
  const { origin, pathname, search, username, password } = url;
  const agent = openAgent({
    ...(isOnThisMachine(url) && { noProxy: '*' }),
    connections: maxConcurrent,
    allowH2: false,
    // The exchange as a whole has its own timeout.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    keepAliveTimeoutThreshold: keepAliveMarginMs,
    connect: { timeout: connectTimeoutMs, ...credentials.clientCertificate },
    // The same for a connection through a proxy.
    connectTimeout: connectTimeoutMs,
    ...(credentials.clientCertificate && { requestTls: credentials.clientCertificate }),
  });
  const userInfo = [username, password].map(decodeURIComponent).join(':');
  const headers = {
    'content-type': 'application/timestamp-query',
    accept: 'application/timestamp-reply',
    ...(userInfo !== ':' && { authorization: `Basic ${Buffer.from(userInfo).toString('base64')}` }),
    ...credentials.headers,
  };
  const request = { origin, path: `${pathname}${search}`, method: 'POST', headers } as const;

  return {
    ask: async (tsq, signal) => {
      const ending = new AbortController();
      const end = () => ending.abort(signal.reason);
      if (signal.aborted) end();
      signal.addEventListener('abort', end, { once: true });
      const timer = setTimeout(end, timeoutMs);
      let hasHead = false;
      try {
        const answer = await agent.request({ ...request, body: tsq, signal: ending.signal });
        hasHead = true;
        return await readAnswer(answer);
      } catch (cause) {
        if (cause instanceof TransportError) throw cause;
        if (ending.signal.aborted) throw new TransportError('timeout', 'no answer in time', { cause });
        if (cause instanceof errors.ConnectTimeoutError)
          throw new TransportError('timeout', 'no connection in time', { isRetryable: true, cause });
        throw new TransportError(hasHead ? 'cut_off' : 'unreachable', 'the exchange failed', { isRetryable: true, cause });
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
      }
    },
    close: () => void agent.destroy(),
  };
}

/** @throws ConfigError if the address of a proxy is not one */
function openAgent(options: EnvHttpProxyAgent.Options): EnvHttpProxyAgent {
  try {
    return new EnvHttpProxyAgent(options);
  } catch {
    throw new ConfigError('HTTPS_PROXY and HTTP_PROXY: they must be addresses such as http://proxy.example:3128');
  }
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
