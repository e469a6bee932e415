export { type ListOptions, Qstamp, type QstampOptions, reasonCodeOf, requireValid } from './client.ts';
export { type Content, type FileSource, sha256Of, sha256OfFile } from './content.ts';
export type * from './contract.ts';
export {
  Conflict,
  Forbidden,
  Gone,
  InvalidRequest,
  NotFound,
  NotValid,
  Pending,
  ProviderFailed,
  QstampError,
  RateLimited,
  type Refusal,
  ServiceError,
  ServiceUnreachable,
  Unauthorized,
  Unavailable,
  UnexpectedAnswer,
  WebhookRefused,
} from './errors.ts';
export type { Answered, Attempt, CallOptions, ExchangeOptions, LastResponse } from './exchange.ts';
export type { Outcome } from './outcomes.ts';
export type {
  ContentOptions,
  HashToStamp,
  KeyedOptions,
  OutputOptions,
  StampOptions,
  StartOptions,
  WaitOptions,
} from './requests.ts';
export type { Stamping } from './stamping.ts';
export { version } from './version.ts';
export { type HeadersGiven, verifyWebhook, type WebhookOptions } from './webhook.ts';
export { type OutputStamping, type OutputToStamp, Workflow, type WorkflowAccess } from './workflow.ts';
