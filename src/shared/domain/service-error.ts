/**
 * The closed set of expected failures. `src/api/server/errors.ts` has the HTTP status of each (E3–E11). Clients read the code, so it never
 * changes its meaning.
 */
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

/** The kinds of secret that let a caller in; `basic`: a service token as the password of HTTP Basic (RFC 7617). */
export type Credential = 'service_token' | 'workflow_token' | 'basic';

export interface ServiceErrorOptions {
  /** Seconds after which a retry makes sense. */
  retryAfterSeconds?: number;
  /** More members of the public body, e.g. `token_id` of a pending stamp (E11). */
  members?: Readonly<Record<string, unknown>>;
  /** Which token a caller lacks who is `unauthorized` (E4, E5). */
  credential?: Credential;
  /** What really happened: logged, never shown. */
  cause?: unknown;
}

/** An expected failure. `message` is shown to the client as `detail`: one sentence, nothing internal. */
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
 * Something outside this process did not work, and may work later. A job that fails for such a reason is tried until it succeeds; one that fails
 * for any other is given up after five tries.
 */
export class TransientError extends Error {
  override readonly name: string = 'TransientError';
}
