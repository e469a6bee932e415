import type { ErrorCode, ReasonCode, ValidationError } from './contract.ts';

/** The base class of all errors of this package. Use `instanceof` to distinguish the kinds. */
export class QstampError extends Error {
  override readonly name: string = 'QstampError';
}

/**
 * No answer came: the connection was refused or cut off, or the time was up. You may repeat a stamp request with the same `idempotencyKey`: nothing
 * is made twice.
 */
export class ServiceUnreachable extends QstampError {
  override readonly name = 'ServiceUnreachable';
}

/** The answer does not come from this service, for example a proxy's page. */
export class UnexpectedAnswer extends QstampError {
  override readonly name = 'UnexpectedAnswer';
}

/** The parts of an answer with an error. */
export interface Refusal {
  readonly status: number;
  /** Members of the body: `detail`, `code`, `request_id`, and more for some codes. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds: number | undefined;
  /** Of the header `X-Request-Id`: the body of a 422 has none. */
  readonly requestId: string | undefined;
}

/** The service refused the request or failed. `code` never changes its meaning; `requestId` identifies the request in its logs. */
export class ServiceError extends QstampError {
  override readonly name: string = 'ServiceError';
  readonly status: number;
  readonly code: ErrorCode | (string & {}) | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(sentence: string, { status, body, retryAfterSeconds, requestId }: Refusal) {
    super(sentence);
    this.status = status;
    this.body = body;
    this.retryAfterSeconds = retryAfterSeconds;
    this.code = textOf(body.code);
    this.requestId = textOf(body.request_id) ?? requestId;
  }
}

/** 422: the request is not valid. `issues` has each fault with its position. */
export class InvalidRequest extends ServiceError {
  override readonly name = 'InvalidRequest';
  get issues(): readonly ValidationError[] {
    return Array.isArray(this.body.detail) ? (this.body.detail as ValidationError[]) : [];
  }
}

/** 401: the service token or the workflow token is missing or wrong. */
export class Unauthorized extends ServiceError {
  override readonly name = 'Unauthorized';
}

/** 403: the caller may not do this, or the recipient wants no mail from the service. */
export class Forbidden extends ServiceError {
  override readonly name = 'Forbidden';
}

export class NotFound extends ServiceError {
  override readonly name = 'NotFound';
}

/** 409: the request conflicts with the current state. */
export class Conflict extends ServiceError {
  override readonly name = 'Conflict';
}

/** 410: the object no longer exists, or can no longer be used. */
export class Gone extends ServiceError {
  override readonly name = 'Gone';
}

/** 429, after all retries: try again after `retryAfterSeconds`. */
export class RateLimited extends ServiceError {
  override readonly name = 'RateLimited';
}

/** 502: every provider failed, or no provider serves this tier (`tier_unavailable`). Nothing was stamped. */
export class ProviderFailed extends ServiceError {
  override readonly name = 'ProviderFailed';
}

/** 503, after all retries: nothing was accepted. */
export class Unavailable extends ServiceError {
  override readonly name = 'Unavailable';
}

/** 504, after all retries: the request was accepted, or perhaps was, and is still in progress. `address` will show the outcome. */
export class Pending extends ServiceError {
  override readonly name = 'Pending';
  /** The id of the stamp in progress. */
  get stampId(): string | undefined {
    return textOf(this.body.token_id);
  }
  get address(): string | undefined {
    return textOf(this.body.verify_url) ?? textOf(this.body.status_url);
  }
}

/** `requireValid` got a result that is not valid. */
export class NotValid extends QstampError {
  override readonly name = 'NotValid';
  /** A code from docs/reference/reasons.md. */
  readonly code: ReasonCode | (string & {});

  constructor(reason: string) {
    super(reason);
    this.code = reason.split(':', 1)[0] ?? reason;
  }
}

/** A webhook has no valid signature of the service, or is too old. */
export class WebhookRefused extends QstampError {
  override readonly name = 'WebhookRefused';
}

const kinds: Readonly<Record<number, typeof ServiceError>> = {
  401: Unauthorized,
  403: Forbidden,
  404: NotFound,
  409: Conflict,
  410: Gone,
  422: InvalidRequest,
  429: RateLimited,
  502: ProviderFailed,
  503: Unavailable,
  504: Pending,
};

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** One fault of a 422 as text. It accepts any values, because a proxy may send anything. */
const faultOf = ({ loc, msg }: Partial<ValidationError>): string =>
  [Array.isArray(loc) ? loc.slice(1).join('.') : '', textOf(msg) ?? ''].filter((part) => part !== '').join(': ');

/** Makes the error for an answer with an error. Its message is the service's sentence, or each fault of a 422. */
export function errorOf(refusal: Refusal): ServiceError {
  const { status, body } = refusal;
  const { detail } = body;
  const sentence = Array.isArray(detail) ? detail.map((item) => faultOf(Object(item))).join('; ') : textOf(detail);
  return new (kinds[status] ?? ServiceError)(`${status}: ${sentence || 'the service gave no reason'}`, refusal);
}
