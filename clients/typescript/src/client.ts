import { type Content, contentOf, type FileSource, readWhole, sha256Of, sha256OfFile } from './content.ts';
import type { ReasonCode, StampToken, VerificationResult, WorkflowStartResponse } from './contract.ts';
import { NotValid, QstampError } from './errors.ts';
import { type Call, createExchange, type Exchange, type ExchangeOptions } from './exchange.ts';
import { type Outcome, sendInPieces } from './outcomes.ts';
import {
  type CallOptions,
  type ContentOptions,
  checkedHash,
  type HashToStamp,
  keyedHeaders,
  keyOfPiece,
  mostItems,
  type SingleOptions,
  type StampOptions,
  type StartOptions,
} from './requests.ts';
import { Workflow, type WorkflowAccess } from './workflow.ts';

export interface QstampOptions extends ExchangeOptions {
  /** Stamps are then made for its product; without it, as an agent. Never give it to a browser. */
  readonly serviceToken?: string | undefined;
}

/** A qstamp service. What is stamped is hashed here, and only the hash is sent unless `sendContent` asks for more. */
export class Qstamp {
  readonly #exchange: Exchange;
  readonly #serviceToken: string | undefined;

  constructor({ serviceToken, ...options }: QstampOptions) {
    this.#exchange = createExchange(options);
    this.#serviceToken = serviceToken;
  }

  /** Stamps a file: its path, or a `File` of a browser. */
  stampFile(file: FileSource, options: ContentOptions = {}): Promise<StampToken> {
    return this.stampBytes(contentOf(file), options);
  }

  /** Stamps bytes; a stream is read piece by piece. */
  async stampBytes(content: Content, { sendContent = false, ...options }: ContentOptions = {}): Promise<StampToken> {
    if (!sendContent) return this.stampHash(await sha256Of(content), options);
    if (options.tier !== undefined && options.tier !== 'sealed') throw new QstampError('content is sent in tier sealed only');
    const { sha256: hash, base64: content_b64 } = await readWhole(content);
    return this.#stamp({ hash, content_b64 }, { ...options, tier: 'sealed' });
  }

  /** Stamps a text, as UTF-8. */
  stampText(text: string, options: ContentOptions = {}): Promise<StampToken> {
    return this.stampBytes(new TextEncoder().encode(text), options);
  }

  /** Stamps a SHA-256. */
  async stampHash(sha256: string, options: SingleOptions = {}): Promise<StampToken> {
    return this.#stamp({ hash: checkedHash(sha256) }, options);
  }

  /** Stamps many hashes, up to 1 000 in one request. The outcomes are in their order; each succeeds or fails for itself. @throws where nothing was made */
  async stampMany(
    hashes: readonly HashToStamp[],
    { tier = 'basic', metadata, ...options }: StampOptions = {},
  ): Promise<Outcome<StampToken>[]> {
    const items = hashes.map((each) => {
      const { hash, metadata: own = metadata } = typeof each === 'string' ? { hash: each } : each;
      return { hash: checkedHash(hash), tier, ...(own && { metadata: own }) };
    });
    const callOf = (index: number): Call => {
      const headers = { ...this.#authorization, ...keyedHeaders(keyOfPiece(options, index)) };
      return { method: 'POST', path: `${this.#stampsUnder}/stamps`, headers, signal: options.signal };
    };
    return sendInPieces(this.#exchange, items, this.#serviceToken === undefined ? mostItems.agent : mostItems.product, callOf);
  }

  /** What the service says of a stamp, by its id. To judge a stamp without the service, use the `qstamp` command or a bundle. */
  verify(stampId: string, { signal }: CallOptions = {}): Promise<VerificationResult> {
    return this.#exchange.send({ method: 'GET', path: `/api/v1/verify/v1/token/${encodeURIComponent(stampId)}`, signal });
  }

  /** What the service says of a time-stamp token, its own or of a TSA that it trusts; with a hash, whether the token is for that. */
  verifyToken(token: string, { hash, signal }: CallOptions & { readonly hash?: string } = {}): Promise<VerificationResult> {
    const body = { token, ...(hash !== undefined && { hash: hash.toLowerCase() }) };
    return this.#exchange.send({ method: 'POST', path: '/api/v1/verify/v1/raw', body, signal });
  }

  /** Whether the service's stamp is for this file, as it is now; the file is hashed here. */
  async verifyFile(file: FileSource, { token }: Pick<StampToken, 'token'>, options: CallOptions = {}): Promise<VerificationResult> {
    return this.verifyToken(token, { ...options, hash: await sha256OfFile(file) });
  }

  /** Starts a workflow: the client gets a mail with a link. */
  async startWorkflow(options: StartOptions): Promise<Workflow> {
    const { signal, idempotencyKey, ...fields } = options;
    const { briefing, briefing_hash, ...rest } = { briefing: undefined, briefing_hash: undefined, ...fields };
    const bytes = typeof briefing === 'string' ? new TextEncoder().encode(briefing) : briefing;
    const hash = bytes === undefined ? checkedHash(briefing_hash ?? '') : await sha256Of(bytes);
    // Who is to be told by a webhook must be known.
    const known = rest.callback_url ? this.#authorization : {};
    const headers = { ...known, ...keyedHeaders(idempotencyKey === undefined ? {} : { idempotencyKey }) };
    const body = { ...rest, briefing_hash: hash };
    const call = { method: 'POST', path: '/api/v1/workflow/start', headers, body, signal } as const;
    return this.openWorkflow(await this.#exchange.send<WorkflowStartResponse>(call));
  }

  /** A workflow that was started before, perhaps elsewhere. */
  openWorkflow(access: WorkflowAccess): Workflow {
    return new Workflow(this.#exchange, access);
  }

  /** Starts a workflow, lets `work` use it, and completes it. When `work` throws, it stays open: what failed is not closed as if it were done. */
  async workflow<T>(options: StartOptions, work: (workflow: Workflow) => Promise<T>): Promise<T> {
    const workflow = await this.startWorkflow(options);
    const result = await work(workflow);
    await workflow.complete(options.signal ? { signal: options.signal } : {});
    return result;
  }

  /** An address of an answer, as an absolute one. */
  addressOf(path: string): string {
    return /^https?:\/\//.test(path) ? path : `${this.#exchange.baseUrl}${path}`;
  }

  get #stampsUnder(): string {
    return this.#serviceToken === undefined ? '/api/v1/agent/v1' : '/api/v1/internal/v1';
  }

  get #authorization(): Record<string, string> {
    return this.#serviceToken === undefined ? {} : { 'x-service-token': this.#serviceToken };
  }

  #stamp(
    content: { hash: string; content_b64?: string },
    { tier = 'basic', metadata, callback_url, ...options }: SingleOptions,
  ): Promise<StampToken> {
    const path = this.#serviceToken === undefined ? `${this.#stampsUnder}/stamp/${tier}` : `${this.#stampsUnder}/stamp`;
    const headers = { ...this.#authorization, ...keyedHeaders(options) };
    const body = { ...content, tier, ...(metadata && { metadata }), ...(callback_url !== undefined && { callback_url }) };
    return this.#exchange.send({ method: 'POST', path, headers, body, signal: options.signal });
  }
}

/** The code in front of a `reason`; undefined of a result that is valid. */
export const reasonCodeOf = ({ reason }: Pick<VerificationResult, 'reason'>): ReasonCode | (string & {}) | undefined =>
  reason?.split(':', 1)[0];

/** The result, where it is valid. @throws NotValid with the reason */
export function requireValid(result: VerificationResult): VerificationResult {
  if (result.valid) return result;
  throw new NotValid(result.reason ?? 'the service gave no reason');
}
