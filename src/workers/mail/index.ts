import { createTransport } from 'nodemailer';
import { TransientError } from '../../shared/domain/service-error.ts';
import type { MailState } from '../../shared/domain/service-state.ts';
import type { Config } from '../../shared/runtime/config.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { Metrics } from '../../shared/runtime/metrics.ts';

/** A message for nodemailer. */
export interface Message {
  readonly from: string | { readonly name: string; readonly address: string };
  readonly to: { readonly name: string; readonly address: string };
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly messageId: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The mail was not accepted. The error message contains only codes, because the server's text may quote the recipient's address (W10). */
export class MailError extends TransientError {
  override readonly name = 'MailError';
  /** Whether a retry is useless: the server refused permanently (RFC 5321 §4.2.1, 5yz). */
  readonly isFinal: boolean;
  /** Whether the server is the cause, so that every other mail would fail too. */
  readonly isOfServer: boolean;

  constructor(fault: string, { isFinal, isOfServer }: { isFinal: boolean; isOfServer: boolean }) {
    super(fault);
    this.isFinal = isFinal;
    this.isOfServer = isOfServer;
  }
}

/** The mail of a worker. */
interface Mail {
  /**
   * Sends a mail. Resolves when the server has accepted it.
   *
   * @throws MailError
   */
  send(message: Message): Promise<void>;
  /** Whether mail works, as the last mail showed: a server that refuses one mail works; one that cannot be reached or refuses the login does not. */
  readState(): MailState;
}

/**
 * Opens the mail of a worker: over SMTP, with one connection for each mail. Without `SMTP_URL` sending fails, but a retry may succeed after it is
 * set. Each outcome is counted: `deferred` is retried, `failed` is not.
 */
export function openMail({ SMTP_URL }: Pick<Config, 'SMTP_URL'>, { mailed }: Pick<Metrics, 'mailed'>, log: Logger): Mail {
  if (SMTP_URL === undefined) {
    log.warn({ outcome: 'advice' }, 'SMTP_URL is not set: workflows cannot send e-mail');
    return {
      send: async () => {
        mailed('deferred');
        throw new MailError('SMTP_URL is not set', { isFinal: false, isOfServer: true });
      },
      readState: () => 'not_configured',
    };
  }
  const transport = createTransport({
    ...connectionOf(SMTP_URL),
    connectionTimeout: dialTimeoutMs,
    greetingTimeout: dialTimeoutMs,
    dnsTimeout: dialTimeoutMs,
    socketTimeout: silenceTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  let state: MailState = 'unknown';
  return {
    send: async (message) => {
      try {
        await transport.sendMail({ ...message, headers: { ...message.headers } });
      } catch (error) {
        const fault = mailErrorOf(error);
        mailed(fault.isFinal ? 'failed' : 'deferred');
        state = fault.isOfServer ? 'failing' : 'ok';
        throw fault;
      }
      mailed('sent');
      state = 'ok';
    },
    readState: () => state,
  };
}

const dialTimeoutMs = 10_000;
const silenceTimeoutMs = 30_000;

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * `smtps://` uses TLS from the first byte. `smtp://` requires STARTTLS before anything else, except on loopback and with `?plain`. User and password
 * are in the URL.
 */
function connectionOf(smtpUrl: string) {
  const { protocol, hostname, port, username, password, searchParams } = new URL(smtpUrl);
  const isPlain = searchParams.has('plain') || loopback.has(hostname);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    ...(port !== '' && { port: Number(port) }),
    secure: protocol === 'smtps:',
    requireTLS: protocol === 'smtp:' && !isPlain,
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
  };
}

interface SmtpFault {
  readonly code?: unknown;
  readonly responseCode?: unknown;
  readonly response?: unknown;
}

/** Error codes of nodemailer for faults that this mail did not cause: a wrong password, no STARTTLS. */
const faultsOfTheSession: readonly unknown[] = ['EAUTH', 'ETLS'];

/** The reply code of a server that is shutting down or refuses our connection (RFC 5321 §4.2.1). */
const serviceNotAvailable = 421;

/** Turns an error of nodemailer into a MailError. It is final only if this mail caused it. */
function mailErrorOf(error: unknown): MailError {
  const { code, responseCode, response }: SmtpFault = typeof error === 'object' && error !== null ? error : {};
  if (typeof responseCode !== 'number') {
    const isFinal = code === 'EENVELOPE';
    return new MailError(typeof code === 'string' ? code : 'unknown fault', { isFinal, isOfServer: !isFinal });
  }
  const enhanced = typeof response === 'string' ? /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1] : undefined;
  const isOfSession = faultsOfTheSession.includes(code);
  return new MailError(`SMTP ${[responseCode, enhanced].filter(Boolean).join(' ')}`, {
    isFinal: responseCode >= 500 && !isOfSession,
    isOfServer: isOfSession || responseCode === serviceNotAvailable,
  });
}
