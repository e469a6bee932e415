import { base64Of, type FileSource, sha256Of, sha256OfFile } from './content.ts';
import type {
  AcceptedStamp,
  EvidenceRenewal,
  ReasonCode,
  StampListItem,
  StampListResponse,
  StampToken,
  VerificationResult,
  WorkflowStartResponse,
} from './contract.ts';
import { NotValid, QstampError } from './errors.ts';
import { type Answered, type CallOptions, createExchange, type ExchangeOptions, waitFor } from './exchange.ts';
import { checkedHash, detailed, encoded, endOf, keyedHeaders, type StartOptions, type WaitOptions } from './requests.ts';
import { environmentVariable } from './runtime.ts';
import { type Access, authorizationOf, Stamping, withoutWaiting } from './stamping.ts';
import { Workflow, type WorkflowAccess } from './workflow.ts';

export interface QstampOptions extends ExchangeOptions {
  /**
   * With a service token, stamps are made for its product; without a token, as an agent. By default, the environment variable `QSTAMP_TOKEN`; an
   * empty text means no token. Never give it to a browser.
   */
  readonly serviceToken?: string | undefined;
}

export interface ListOptions extends CallOptions {
  /** `all`: also stamps of SHA-384 and SHA-512, which time-stamp clients requested. */
  readonly imprints?: 'sha256' | 'all';
}

/** The largest page of a list that the service sends. */
const pageItems = 500;

/** How long `untilStamped` waits by default. */
const stampedWithinMs = 600_000;

/** The shortest time between two checks for a stamp that the service does not know yet. */
const lookMs = 1_000;

/** The token without the space around it. @throws QstampError, in which the token is not shown */
function sendableToken(given = ''): string | undefined {
  const token = given.trim();
  if (/^[\x20-\x7e]*$/.test(token)) return token || undefined;
  throw new QstampError('the service token (`serviceToken`, or QSTAMP_TOKEN) has a character that no service token has');
}

/** A client of one qstamp service. */
export class Qstamp extends Stamping<Answered<StampToken>> {
  readonly #access: Access;
  /** The base URL of the service, without a slash at the end. */
  readonly url: string;
  /**
   * The same calls, but they return as soon as the service has accepted the stamp. The result is its id and address, or the stamp if the idempotency
   * key was used before. `untilStamped` waits for the stamp, also in another process.
   */
  readonly later: Stamping<Answered<AcceptedStamp | StampToken>>;

  /** @throws QstampError if there is no URL, or if the token cannot be sent */
  constructor({ serviceToken = environmentVariable('QSTAMP_TOKEN'), ...options }: QstampOptions = {}) {
    const access = { exchange: createExchange(options), serviceToken: sendableToken(serviceToken) };
    super(access);
    this.#access = access;
    this.url = access.exchange.baseUrl;
    this.later = new Stamping(access, withoutWaiting);
  }

  /**
   * Waits for a stamp in progress and returns the service's verdict. The service does not know whether an id was ever requested, so the wait has a
   * limit: `timeout`, by default ten minutes.
   *
   * @throws a TimeoutError, like that of `AbortSignal.timeout`; the signal's reason
   */
  async untilStamped(
    stamp: string | Pick<AcceptedStamp, 'token_id'>,
    { timeout = stampedWithinMs, signal }: WaitOptions = {},
  ): Promise<Answered<VerificationResult>> {
    const stampId = typeof stamp === 'string' ? stamp : stamp.token_id;
    const end = endOf({ timeout, signal });
    const { waitSeconds } = this.#access.exchange;
    const headers = waitSeconds > 0 ? { prefer: `wait=${waitSeconds}` } : {};
    for (;;) {
      const askedAt = performance.now();
      const result = await this.verify(stampId, { headers, signal: end });
      if (reasonCodeOf(result) !== 'unknown_token_id') return result;
      await waitFor(Math.max(0, askedAt + lookMs - performance.now()), end);
    }
  }

  /** The service's verdict on a stamp. To verify a stamp without the service, use the `qstamp` command or a bundle. */
  verify(stampId: string, options: CallOptions = {}): Promise<Answered<VerificationResult>> {
    return this.#access.exchange.send({ method: 'GET', path: detailed(pathOf(stampId)), options });
  }

  /**
   * The service's verdict on a time-stamp token, from itself or from a TSA that it trusts: `token` of a stamp, or the bytes that `fetchToken` returns.
   * With a hash, it also checks whether the token is for this hash.
   */
  verifyToken(
    token: string | Uint8Array,
    { hash, ...options }: CallOptions & { readonly hash?: string } = {},
  ): Promise<Answered<VerificationResult>> {
    const body = { token: typeof token === 'string' ? token : base64Of(token), ...(hash !== undefined && { hash: hash.toLowerCase() }) };
    return this.#access.exchange.send({ method: 'POST', path: detailed('/api/v1/verify/v1/raw'), body, options });
  }

  /** The service's verdict on whether a stamp is valid and is for the current content of this file. The file is hashed locally. */
  async verifyFile(
    file: FileSource,
    { token }: Pick<StampToken, 'token'>,
    options: CallOptions = {},
  ): Promise<Answered<VerificationResult>> {
    return this.verifyToken(token, { ...options, hash: await sha256OfFile(file) });
  }

  /** All stamps of the product of the service token, the newest first. They are fetched page by page. */
  async *listStamps({ imprints = 'sha256', ...options }: ListOptions = {}): AsyncGenerator<StampListItem> {
    const headers = authorizationOf(this.#access);
    let last: string | undefined;
    for (let offset = 0, isWhole = true; isWhole; offset += pageItems) {
      const path = `${detailed('/api/v1/internal/v1/stamps')}&imprints=${imprints}&limit=${pageItems}&offset=${offset}`;
      const { items } = await this.#access.exchange.send<StampListResponse>({ method: 'GET', path, headers, options });
      for (const item of items) {
        // New stamps move older ones to a later page. The ids are in the order of time.
        if (last !== undefined && item.token_id >= last) continue;
        last = item.token_id;
        yield item;
      }
      isWhole = items.length === pageItems;
    }
  }

  /**
   * Downloads the proof of a stamp in DER: the time-stamp token, or the evidence record if many stamps share one token.
   *
   * @throws NotFound if there is no proof, for example for a test stamp
   */
  async fetchToken(stampId: string, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    const { bytes, headers } = await this.#download(stampId, 'token', options);
    // With this header the token is for the root of a batch. The evidence record has the path from this stamp's hash to the root.
    return headers.has('qstamp-batch') ? this.fetchEvidenceRecord(stampId, options) : bytes;
  }

  /** Downloads the evidence record of a stamp (RFC 4998) with its renewals, in DER. @throws NotFound if there is none */
  async fetchEvidenceRecord(stampId: string, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.#download(stampId, 'evidence', options)).bytes;
  }

  /**
   * Asks the service to add the content's hash in a stronger algorithm to the evidence of a stamp. The content is sent; the service hashes it and
   * does not keep it.
   */
  renewEvidence(stampId: string, content: Blob, options: CallOptions = {}): Promise<Answered<EvidenceRenewal>> {
    const headers = authorizationOf(this.#access);
    return this.#access.exchange.send({ method: 'POST', path: `${pathOf(stampId)}/evidence`, headers, body: content, options });
  }

  /** Downloads the public evidence of a completed workflow: a zip file of any size, in parts. */
  fetchBundle(workflowId: string, options: CallOptions = {}): AsyncGenerator<Uint8Array> {
    return this.#access.exchange.fetchPieces({ method: 'GET', path: `/workflow/${encodeURIComponent(workflowId)}/evidence.zip`, options });
  }

  /** Starts a workflow: the client gets a mail with a link. */
  async startWorkflow(options: StartOptions): Promise<Workflow> {
    const { signal, timeout, maxRetries, headers: own, idempotencyKey, ...fields } = options;
    const { briefing, briefing_hash, ...rest } = { briefing: undefined, briefing_hash: undefined, ...fields };
    const bytes = typeof briefing === 'string' ? encoded(briefing) : briefing;
    const hash = bytes === undefined ? checkedHash(briefing_hash ?? '') : await sha256Of(bytes);
    // Only callers with a service token may use webhooks.
    const known = rest.callback_url ? authorizationOf(this.#access) : {};
    const headers = { ...known, ...keyedHeaders({ idempotencyKey }) };
    const body = { ...rest, briefing_hash: hash };
    const call = { signal, timeout, maxRetries, headers: own };
    const path = detailed('/api/v1/workflow/start');
    const started = await this.#access.exchange.send<WorkflowStartResponse>({ method: 'POST', path, headers, body, options: call });
    return new Workflow(this.#access, started, started);
  }

  /** Opens a workflow that was started before, perhaps in another process. */
  openWorkflow(access: WorkflowAccess): Workflow {
    return new Workflow(this.#access, access);
  }

  /** Starts a workflow, runs `work` with it, and completes it. If `work` throws, the workflow stays open. */
  async workflow<T>(options: StartOptions, work: (workflow: Workflow) => Promise<T>): Promise<T> {
    const workflow = await this.startWorkflow(options);
    const result = await work(workflow);
    const { signal, timeout, maxRetries, headers } = options;
    await workflow.complete({ signal, timeout, maxRetries, headers });
    return result;
  }

  /** The absolute form of a URL in an answer. */
  addressOf(path: string): string {
    return /^https?:\/\//.test(path) ? path : `${this.url}${path}`;
  }

  #download(stampId: string, part: 'token' | 'evidence', options: CallOptions) {
    return this.#access.exchange.fetchBytes({ method: 'GET', path: `${pathOf(stampId)}/${part}`, headers: { accept: '*/*' }, options });
  }
}

const pathOf = (stampId: string): string => `/api/v1/verify/v1/token/${encodeURIComponent(stampId)}`;

/** The code at the start of a `reason`; undefined for a valid result. */
export const reasonCodeOf = ({ reason }: Pick<VerificationResult, 'reason'>): ReasonCode | (string & {}) | undefined =>
  reason?.split(':', 1)[0];

/** Returns the result if it is valid. @throws NotValid with the reason */
export function requireValid(result: VerificationResult): VerificationResult {
  if (result.valid) return result;
  throw new NotValid(result.reason ?? 'the service gave no reason');
}
