import type { Content } from './content.ts';
import type { StampTier, WorkflowStampRequest, WorkflowStartRequest } from './contract.ts';
import { QstampError } from './errors.ts';

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** What a call takes that makes something. */
export interface KeyedOptions extends CallOptions {
  /**
   * Names this request: sent again with the same key, also by another process, it makes nothing twice. A new one for each call unless told; the
   * retries of a call share it.
   */
  readonly idempotencyKey?: string;
}

export interface StampOptions extends KeyedOptions {
  /** `basic` unless told. */
  readonly tier?: StampTier;
  /** Stored with the stamp, never signed; at most 4 KB. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Where a signed webhook tells of the stamp, of many of each; with a service token only. */
  readonly callback_url?: string;
}

export interface ContentOptions extends StampOptions {
  /** Sends the content too, in tier `sealed`: the service keeps it, encrypted. Else only its hash leaves. */
  readonly sendContent?: boolean;
}

/** One of many: its hash, or with what is said of it alone. */
export type HashToStamp = string | ({ readonly hash: string } & Pick<StampOptions, 'metadata' | 'callback_url'>);

/** What a workflow is started with; of the briefing only the hash is sent. */
export type StartOptions = Omit<WorkflowStartRequest, 'briefing_hash'> &
  KeyedOptions &
  ({ readonly briefing: string | Content } | { readonly briefing_hash: string });

export interface OutputOptions extends Omit<WorkflowStampRequest, 'output_hash'>, KeyedOptions {}

/** What is said beside a hash. */
export const saidOf = ({ metadata, callback_url }: Pick<StampOptions, 'metadata' | 'callback_url'>) => ({
  ...(metadata && { metadata }),
  ...(callback_url !== undefined && { callback_url }),
});

/** A SHA-256 as the service takes it. @throws QstampError for anything else: a wrong hash would be a stamp of nothing */
export function checkedHash(hash: string): string {
  const lower = hash.toLowerCase();
  if (/^[0-9a-f]{64}$/.test(lower)) return lower;
  throw new QstampError('a SHA-256 takes 64 hexadecimal characters');
}

export const keyedHeaders = ({ idempotencyKey = newKey() }: KeyedOptions): Record<string, string> => ({
  'idempotency-key': idempotencyKey,
});

/** `crypto.randomUUID` is missing on pages that came without HTTPS. */
const newKey = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** The most items of one request; as an agent and in a workflow fewer, so that they fit into the limits of a minute. */
export const mostItems = { product: 1_000, agent: 500, workflow: 100 } as const;

/** A key of each piece, the same again for the same key. */
export const keyOfPiece = (options: KeyedOptions, index: number): KeyedOptions =>
  options.idempotencyKey === undefined ? {} : { idempotencyKey: `${options.idempotencyKey}:${index}` };
