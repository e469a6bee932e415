import type { Content } from './content.ts';
import type { StampTier, WorkflowStampRequest, WorkflowStartRequest } from './contract.ts';
import { QstampError } from './errors.ts';

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** Options of a call that makes something. */
export interface KeyedOptions extends CallOptions {
  /**
   * Identifies this request: with the same key, also from another process, nothing is made twice. By default each call has a new key, which its
   * retries share.
   */
  readonly idempotencyKey?: string;
}

export interface StampOptions extends KeyedOptions {
  /** Default `basic`. */
  readonly tier?: StampTier;
  /** Stored with the stamp but not signed; at most 4 KB. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Receives a signed webhook about the stamp (in a list, about each stamp); only with a service token. */
  readonly callback_url?: string;
}

export interface ContentOptions extends StampOptions {
  /** Also sends the content, in tier `sealed`: the service keeps it, encrypted. By default only its hash is sent. */
  readonly sendContent?: boolean;
}

/** An item of a list: a hash, or a hash with its own options. */
export type HashToStamp = string | ({ readonly hash: string } & Pick<StampOptions, 'metadata' | 'callback_url'>);

/** The options for starting a workflow; only the hash of the briefing is sent. */
export type StartOptions = Omit<WorkflowStartRequest, 'briefing_hash'> &
  KeyedOptions &
  ({ readonly briefing: string | Content } | { readonly briefing_hash: string });

export interface OutputOptions extends Omit<WorkflowStampRequest, 'output_hash'>, KeyedOptions {}

/** The other members of a stamp request. */
export const saidOf = ({ metadata, callback_url }: Pick<StampOptions, 'metadata' | 'callback_url'>) => ({
  ...(metadata && { metadata }),
  ...(callback_url !== undefined && { callback_url }),
});

/** A SHA-256 in the form of the service. @throws QstampError for anything else: a stamp of a wrong hash would be useless */
export function checkedHash(hash: string): string {
  const lower = hash.toLowerCase();
  if (/^[0-9a-f]{64}$/.test(lower)) return lower;
  throw new QstampError('a SHA-256 has 64 hexadecimal characters');
}

export const keyedHeaders = ({ idempotencyKey = newKey() }: KeyedOptions): Record<string, string> => ({
  'idempotency-key': idempotencyKey,
});

/** `crypto.randomUUID` is missing on pages without HTTPS. */
const newKey = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** The maximum items of one request; fewer for an agent and in a workflow, to stay within the limit per minute. */
export const mostItems = { product: 1_000, agent: 500, workflow: 100 } as const;

/** A key for each part, derived from the given key. */
export const keyOfPiece = (options: KeyedOptions, index: number): KeyedOptions =>
  options.idempotencyKey === undefined ? {} : { idempotencyKey: `${options.idempotencyKey}:${index}` };
