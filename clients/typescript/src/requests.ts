import type { Content } from './content.ts';
import type { StampTier, WorkflowStampRequest, WorkflowStartRequest } from './contract.ts';
import { QstampError } from './errors.ts';
import type { CallOptions } from './exchange.ts';

/** Options of a wait. */
export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  /** The maximum time of the wait, in ms. */
  readonly timeout?: number | undefined;
}

/** A signal that ends a wait: the caller's own one, or the end of the time. */
export const endOf = ({ signal, timeout }: WaitOptions): AbortSignal =>
  AbortSignal.any([...(signal ? [signal] : []), ...(timeout === undefined ? [] : [AbortSignal.timeout(timeout)])]);

/** Options of a call that creates or changes something. */
export interface KeyedOptions extends CallOptions {
  /**
   * Identifies this request: if the same key is sent again, also from another process, nothing is made twice. By default each call has a new key, and
   * its retries use the same key.
   */
  readonly idempotencyKey?: string | undefined;
}

export interface StampOptions extends KeyedOptions {
  /** Default `basic`. */
  readonly tier?: StampTier;
  /** Stored with the stamp but not signed. Maximum size: 4 KB. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The URL that gets a signed webhook about the stamp (for a list, about each stamp). Only with a service token. */
  readonly callback_url?: string;
}

export interface ContentOptions extends StampOptions {
  /** Also sends the content, in tier `sealed`: the service stores it encrypted. By default only its hash is sent. */
  readonly sendContent?: boolean;
}

/** An item of a list: a hash, or a hash with its own options. */
export type HashToStamp = string | ({ readonly hash: string } & Pick<StampOptions, 'metadata' | 'callback_url'>);

/** The options for starting a workflow; only the hash of the briefing is sent. */
export type StartOptions = Omit<WorkflowStartRequest, 'briefing_hash'> &
  KeyedOptions &
  ({ readonly briefing: string | Content } | { readonly briefing_hash: string });

/** The options of an output. */
export interface OutputOptions extends Omit<WorkflowStampRequest, 'output_hash' | 'output_type'>, KeyedOptions {
  /**
   * A label of your choice for the page of the workflow; default `text` for a text, else `file`. The usual ones are `image`, `text`, `audio`,
   * `video`, `code` and `layout`.
   */
  readonly output_type?: string;
}

export const defaultOutputType = 'file';

/** A text in UTF-8. @throws TypeError if it is no text */
export function encoded(text: string): Uint8Array<ArrayBuffer> {
  if (typeof text !== 'string') throw new TypeError(`the text must be a string, not ${typeof text}; stampBytes takes bytes`);
  return new TextEncoder().encode(text);
}

/** The optional members of a stamp request. */
export const saidOf = ({ metadata, callback_url }: Pick<StampOptions, 'metadata' | 'callback_url'>) => ({
  ...(metadata && { metadata }),
  ...(callback_url !== undefined && { callback_url }),
});

/** Returns a SHA-256 in lower case. @throws QstampError if the text is not a SHA-256: a stamp of a wrong hash would be useless */
export function checkedHash(hash: string): string {
  if (typeof hash !== 'string') throw new TypeError(`a SHA-256 is a string of 64 hexadecimal characters, not ${typeof hash}`);
  const lower = hash.toLowerCase();
  if (/^[0-9a-f]{64}$/.test(lower)) return lower;
  throw new QstampError('a SHA-256 has 64 hexadecimal characters');
}

export const keyedHeaders = ({ idempotencyKey = newKey() }: KeyedOptions): Record<string, string> => ({
  'idempotency-key': idempotencyKey,
});

/** Makes a random key. `crypto.randomUUID` is not used, because it is missing on pages without HTTPS. */
const newKey = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Asks for the members of an answer that the service does not send by default, such as `qualified`. */
export const detailed = (path: string): string => `${path}?details=true`;

/** The maximum number of items in one request. It is smaller for an agent and in a workflow, because of the limit per minute. */
export const mostItems = { product: 1_000, agent: 500, workflow: 100 } as const;

/** The idempotency key for one part of a list, derived from the given key. */
export const keyOfPiece = (options: KeyedOptions, index: number): KeyedOptions =>
  options.idempotencyKey === undefined ? {} : { idempotencyKey: `${options.idempotencyKey}:${index}` };
