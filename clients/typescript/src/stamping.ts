import { type Content, contentOf, type FileSource, readWhole, sha256Of } from './content.ts';
import { QstampError } from './errors.ts';
import type { Call, Exchange } from './exchange.ts';
import { type Outcome, sendInPieces } from './outcomes.ts';
import {
  type ContentOptions,
  checkedHash,
  detailed,
  encoded,
  type HashToStamp,
  keyedHeaders,
  keyOfPiece,
  mostItems,
  type StampOptions,
  saidOf,
} from './requests.ts';

/** The connection to the service, and the caller's service token. */
export interface Access {
  readonly exchange: Exchange;
  readonly serviceToken: string | undefined;
}

export const authorizationOf = ({ serviceToken }: Access): Record<string, string> =>
  serviceToken === undefined ? {} : { 'x-service-token': serviceToken };

/** The header that asks for an answer before the stamp is made (RFC 7240). */
export const withoutWaiting = { prefer: 'respond-async' } as const;

/** Stamps files, bytes, texts and hashes. Content is hashed locally, and only the hash is sent unless `sendContent` is set. */
export class Stamping<Made> {
  readonly #access: Access;
  readonly #preference: Readonly<Record<string, string>>;

  /** `preference`: headers that say whether to wait for the stamps. */
  constructor(access: Access, preference: Readonly<Record<string, string>> = {}) {
    this.#access = access;
    this.#preference = preference;
  }

  /** Stamps a file: a path, or a browser's `File`. */
  stampFile(file: FileSource, options: ContentOptions = {}): Promise<Made> {
    return this.stampBytes(contentOf(file), options);
  }

  /** Stamps bytes; a stream is read in parts. */
  async stampBytes(content: Content, { sendContent = false, ...options }: ContentOptions = {}): Promise<Made> {
    if (!sendContent) return this.stampHash(await sha256Of(content), options);
    if (options.tier !== undefined && options.tier !== 'sealed') throw new QstampError('content is only sent in tier sealed');
    const { sha256: hash, base64: content_b64 } = await readWhole(content);
    return this.#stamp({ hash, content_b64 }, { ...options, tier: 'sealed' });
  }

  /** Stamps a text in UTF-8. */
  async stampText(text: string, options: ContentOptions = {}): Promise<Made> {
    return this.stampBytes(encoded(text), options);
  }

  /** Stamps a SHA-256. */
  async stampHash(sha256: string, options: StampOptions = {}): Promise<Made> {
    return this.#stamp({ hash: checkedHash(sha256) }, options);
  }

  /**
   * Stamps many hashes, up to 1 000 in one request. The outcomes are in the same order; each hash succeeds or fails separately.
   *
   * @throws QstampError if nothing was made
   */
  async stampMany(hashes: readonly HashToStamp[], { tier = 'basic', ...options }: StampOptions = {}): Promise<Outcome<Made>[]> {
    const items = hashes.map((each) => {
      const { hash, ...own } = typeof each === 'string' ? { hash: each } : each;
      return { hash: checkedHash(hash), tier, ...saidOf({ ...options, ...own }) };
    });
    const callOf = (index: number): Call => {
      const headers = { ...this.#headers, ...keyedHeaders(keyOfPiece(options, index)) };
      return { method: 'POST', path: detailed(`${this.#under}/stamps`), headers, options };
    };
    return sendInPieces(this.#access.exchange, items, this.#isAgent ? mostItems.agent : mostItems.product, callOf);
  }

  get #isAgent(): boolean {
    return this.#access.serviceToken === undefined;
  }

  get #under(): string {
    return this.#isAgent ? '/api/v1/agent/v1' : '/api/v1/internal/v1';
  }

  get #headers(): Record<string, string> {
    return { ...authorizationOf(this.#access), ...this.#preference };
  }

  #stamp(content: { hash: string; content_b64?: string }, { tier = 'basic', ...options }: StampOptions): Promise<Made> {
    const path = detailed(this.#isAgent ? `${this.#under}/stamp/${tier}` : `${this.#under}/stamp`);
    const headers = { ...this.#headers, ...keyedHeaders(options) };
    const body = { ...content, tier, ...saidOf(options) };
    return this.#access.exchange.send<Made & object>({ method: 'POST', path, headers, body, options });
  }
}
