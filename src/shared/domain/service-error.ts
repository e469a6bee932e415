/** The codes of all expected failures. `src/api/http/errors.ts` has the HTTP status of each (E3). A code never changes its meaning for clients. */
export type ErrorCode =
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'idempotency_key_reused'
  | 'gone'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'bad_request'
  | 'request_timeout'
  | 'rate_limited'
  | 'recipient_limited'
  | 'recipient_blocked'
  | 'provider_failed'
  | 'tier_unavailable'
  | 'mail_unavailable'
  | 'tsa_unavailable'
  | 'queue_unavailable'
  | 'store_unavailable'
  | 'overloaded'
  | 'prefetch_refused'
  | 'stamp_pending'
  | 'completion_pending'
  | 'mail_pending'
  | 'internal_error';

/** The kinds of caller credentials; `basic`: a service token as the password of HTTP Basic (RFC 7617). */
export type Credential = 'service_token' | 'workflow_token' | 'basic';

interface ServiceErrorOptions {
  /** Seconds until a retry makes sense. */
  retryAfterSeconds?: number;
  /** More members for the body of the answer, such as `token_id` of a pending stamp. */
  members?: Readonly<Record<string, unknown>>;
  /** The kind of credential that an `unauthorized` request lacks. */
  credential?: Credential;
  /** The internal cause. It is logged, but never shown to clients. */
  cause?: unknown;
}

/** An expected failure. The client sees `message` as `detail`: one sentence, without internals. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly retryAfterSeconds: number | undefined;
  readonly members: Readonly<Record<string, unknown>>;
  readonly credential: Credential | undefined;

  constructor(code: ErrorCode, detail: string, options: ServiceErrorOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.members = options.members ?? {};
    this.credential = options.credential;
  }
}

/**
 * Something outside this process failed and may work later. A job that fails with a TransientError is retried until it succeeds. Other failures are
 * counted, and at the fifth the job is given up.
 */
export class TransientError extends Error {
  override readonly name: string = 'TransientError';
}
