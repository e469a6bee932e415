import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import type { Credentials } from './credentials.ts';
import { withDeadline } from './deadline.ts';

/** The most bytes of an answer that are read: no time-stamp needs more. */
const maxAnswerBytes = 64 * 1024;
const connectTimeoutMs = 2_000;

export type TransportFault = 'unreachable' | 'timeout' | 'http_status' | 'content_type' | 'oversized' | 'cut_off';

/** A TSA that could not be asked, or whose answer is none (refusal 5). */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly fault: TransportFault;
  /** Whether asking again may help: transport faults, 429 and 5xx. */
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
   * Sends the DER of a TimeStampReq and resolves with the body of the answer, whatever it holds. Ends when the time for an exchange is up.
   *
   * @throws TransportError
   */
  ask(tsq: Buffer, signal: AbortSignal): Promise<Buffer>;
  close(): void;
}

function retryAfterMsOf(response: IncomingMessage): number | undefined {
  const seconds = Number(response.headers['retry-after']);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
}

function refuseHead(response: IncomingMessage): TransportError | undefined {
  const status = response.statusCode ?? 0;
  if (status !== 200) {
    const isRetryable = status === 429 || status >= 500;
    return new TransportError('http_status', `the TSA answered HTTP ${status}`, { isRetryable, retryAfterMs: retryAfterMsOf(response) });
  }
  const type = (response.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/timestamp-reply') {
    return new TransportError('content_type', `the TSA answered with content type "${type}"`, { isRetryable: false });
  }
  return undefined;
}

/** By events: an iterator costs more than all else of an answer that comes in one piece. */
const readBody = (response: IncomingMessage): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    response.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > maxAnswerBytes)
        reject(new TransportError('oversized', `the answer is larger than ${maxAnswerBytes} bytes`, { isRetryable: false }));
      else parts.push(part);
    });
    response.on('error', reject);
    response.on('close', () => {
      if (response.complete) resolve(Buffer.concat(parts));
      else reject(new TransportError('cut_off', 'the answer was cut off', { isRetryable: true }));
    });
  });

/** `maxConcurrent`: the connections kept at most. `timeoutMs`: how long one exchange may take, milliseconds. */
export function createTsaClient(options: { url: string; credentials: Credentials; maxConcurrent: number; timeoutMs: number }): TsaClient {
  const { url, credentials, maxConcurrent, timeoutMs } = options;
  const isHttps = url.startsWith('https:');
  const agentOptions = { keepAlive: true, maxSockets: maxConcurrent };
  const agent = isHttps ? new HttpsAgent({ ...agentOptions, ...credentials.clientCertificate }) : new HttpAgent(agentOptions);
  const address = urlToHttpOptions(new URL(url));
  const headers = { 'content-type': 'application/timestamp-query', accept: 'application/timestamp-reply', ...credentials.headers };

  const requestHead = (tsq: Buffer, signal: AbortSignal): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const send = isHttps ? httpsRequest : httpRequest;
      const outgoing = send({ ...address, method: 'POST', agent, signal, headers: { ...headers, 'content-length': tsq.length } }, resolve);
      const timer = setTimeout(
        () => outgoing.destroy(new TransportError('timeout', 'no connection in time', { isRetryable: true })),
        connectTimeoutMs,
      );
      outgoing.on('socket', (socket) => {
        if (socket.connecting) socket.once(isHttps ? 'secureConnect' : 'connect', () => clearTimeout(timer));
        else clearTimeout(timer);
      });
      outgoing.on('close', () => clearTimeout(timer)).on('error', reject);
      outgoing.end(tsq);
    });

  async function exchange(tsq: Buffer, signal: AbortSignal): Promise<Buffer> {
    let response: IncomingMessage | undefined;
    try {
      response = await requestHead(tsq, signal);
      const refused = refuseHead(response);
      if (refused) throw refused;
      return await readBody(response);
    } catch (error) {
      response?.destroy();
      if (error instanceof TransportError) throw error;
      if (signal.aborted) throw new TransportError('timeout', 'no answer in time', { isRetryable: false, cause: error });
      throw new TransportError(response ? 'cut_off' : 'unreachable', 'the exchange failed', { isRetryable: true, cause: error });
    }
  }

  return {
    ask: (tsq, outer) => withDeadline(timeoutMs, (signal) => exchange(tsq, signal), outer),
    close: () => agent.destroy(),
  };
}
