import type { ErrorCode } from '../../shared/domain/service-error.ts';

/** The HTTP status of every expected error. The type checks that the list is complete. */
export const statusOf = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  idempotency_key_reused: 409,
  gone: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
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
} as const satisfies Record<ErrorCode, number>;
