/** The codes of all expected failures, with the HTTP status of each (E3). A code never changes its meaning for clients. */
export const statusOf = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  recipient_blocked: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  idempotency_key_reused: 409,
  gone: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  recipient_limited: 429,
  internal_error: 500,
  provider_failed: 502,
  tier_unavailable: 502,
  mail_unavailable: 503,
  tsa_unavailable: 503,
  queue_unavailable: 503,
  store_unavailable: 503,
  overloaded: 503,
  prefetch_refused: 503,
  stamp_pending: 504,
  completion_pending: 504,
  mail_pending: 504,
} as const;
export type ErrorCode = keyof typeof statusOf;

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
