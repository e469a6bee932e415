import { type FileSource, sha256Of, sha256OfFile } from './content.ts';
import type { AcceptedStamp, EvidenceRenewal, ReasonCode, StampToken, VerificationResult, WorkflowStartResponse } from './contract.ts';
import { NotValid } from './errors.ts';
import { type Call, createExchange, type ExchangeOptions, waitFor } from './exchange.ts';
import { type CallOptions, checkedHash, detailed, keyedHeaders, type StartOptions } from './requests.ts';
import { type Access, authorizationOf, Stamping, withoutWaiting } from './stamping.ts';
import { Workflow, type WorkflowAccess } from './workflow.ts';

export interface QstampOptions extends ExchangeOptions {
  /** With a service token, stamps are made for its product; without a token, as an agent. Never give it to a browser. */
  readonly serviceToken?: string | undefined;
}

/** The shortest time between two checks for a stamp that the service does not know yet. */
const lookMs = 1_000;

/** A client of one qstamp service. */
export class Qstamp extends Stamping<StampToken> {
  readonly #access: Access;
  /** The base URL of the service, without a slash at the end. */
  readonly url: string;
  /**
   * The same calls, but they return as soon as the service has accepted the stamp. The result is its id and address, or the stamp if the idempotency
   * key was used before. `untilStamped` waits for the stamp, also in another process.
   */
  readonly later: Stamping<AcceptedStamp | StampToken>;

  constructor({ serviceToken, ...options }: QstampOptions) {
    const access = { exchange: createExchange(options), serviceToken };
    super(access);
    this.#access = access;
    this.url = access.exchange.baseUrl;
    this.later = new Stamping(access, withoutWaiting);
  }

  /**
   * Waits for a stamp in progress and returns the service's verdict. Limit the wait with a signal: for an id that was never requested it would not
   * end.
   */
  async untilStamped(stamp: string | Pick<AcceptedStamp, 'token_id'>, { signal }: CallOptions = {}): Promise<VerificationResult> {
    const stampId = typeof stamp === 'string' ? stamp : stamp.token_id;
    const { waitSeconds } = this.#access.exchange;
    for (;;) {
      const askedAt = performance.now();
      const headers = waitSeconds > 0 ? { prefer: `wait=${waitSeconds}` } : {};
      const result = await this.#verify(stampId, { headers, signal });
      if (reasonCodeOf(result) !== 'unknown_token_id') return result;
      await waitFor(Math.max(0, askedAt + lookMs - performance.now()), signal);
    }
  }

  /** The service's verdict on a stamp. To verify a stamp without the service, use the `qstamp` command or a bundle. */
  verify(stampId: string, { signal }: CallOptions = {}): Promise<VerificationResult> {
    return this.#verify(stampId, { signal });
  }

  /**
   * The service's verdict on a time-stamp token, from itself or from a TSA that it trusts. With a hash, it also checks whether the token is for this
   * hash.
   */
  verifyToken(token: string, { hash, signal }: CallOptions & { readonly hash?: string } = {}): Promise<VerificationResult> {
    const body = { token, ...(hash !== undefined && { hash: hash.toLowerCase() }) };
    return this.#access.exchange.send({ method: 'POST', path: detailed('/api/v1/verify/v1/raw'), body, signal });
  }

  /** The service's verdict on whether a stamp is valid and is for the current content of this file. The file is hashed locally. */
  async verifyFile(file: FileSource, { token }: Pick<StampToken, 'token'>, options: CallOptions = {}): Promise<VerificationResult> {
    return this.verifyToken(token, { ...options, hash: await sha256OfFile(file) });
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
  renewEvidence(stampId: string, content: Blob, { signal }: CallOptions = {}): Promise<EvidenceRenewal> {
    const headers = authorizationOf(this.#access);
    return this.#access.exchange.send({ method: 'POST', path: `${pathOf(stampId)}/evidence`, headers, body: content, signal });
  }

  /** Downloads the public evidence of a completed workflow: a zip file of any size, in parts. */
  fetchBundle(workflowId: string, { signal }: CallOptions = {}): AsyncGenerator<Uint8Array> {
    return this.#access.exchange.fetchPieces({ method: 'GET', path: `/workflow/${encodeURIComponent(workflowId)}/evidence.zip`, signal });
  }

  /** Starts a workflow: the client gets a mail with a link. */
  async startWorkflow(options: StartOptions): Promise<Workflow> {
    const { signal, idempotencyKey, ...fields } = options;
    const { briefing, briefing_hash, ...rest } = { briefing: undefined, briefing_hash: undefined, ...fields };
    const bytes = typeof briefing === 'string' ? new TextEncoder().encode(briefing) : briefing;
    const hash = bytes === undefined ? checkedHash(briefing_hash ?? '') : await sha256Of(bytes);
    // Only callers with a service token may use webhooks.
    const known = rest.callback_url ? authorizationOf(this.#access) : {};
    const headers = { ...known, ...keyedHeaders(idempotencyKey === undefined ? {} : { idempotencyKey }) };
    const body = { ...rest, briefing_hash: hash };
    const call = { method: 'POST', path: '/api/v1/workflow/start', headers, body, signal } as const;
    const started = await this.#access.exchange.send<WorkflowStartResponse>(call);
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
    await workflow.complete(options.signal ? { signal: options.signal } : {});
    return result;
  }

  /** The absolute form of a URL in an answer. */
  addressOf(path: string): string {
    return /^https?:\/\//.test(path) ? path : `${this.url}${path}`;
  }

  #verify(stampId: string, options: Pick<Call, 'headers' | 'signal'>): Promise<VerificationResult> {
    return this.#access.exchange.send({ method: 'GET', path: detailed(pathOf(stampId)), ...options });
  }

  #download(stampId: string, part: 'token' | 'evidence', { signal }: CallOptions) {
    return this.#access.exchange.fetchBytes({ method: 'GET', path: `${pathOf(stampId)}/${part}`, headers: { accept: '*/*' }, signal });
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
