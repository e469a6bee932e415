import { type FileSource, sha256Of, sha256OfFile } from './content.ts';
import type { AcceptedStamp, EvidenceRenewal, ReasonCode, StampToken, VerificationResult, WorkflowStartResponse } from './contract.ts';
import { NotValid } from './errors.ts';
import { type Call, createExchange, type ExchangeOptions, waitFor } from './exchange.ts';
import { type CallOptions, checkedHash, keyedHeaders, type StartOptions } from './requests.ts';
import { type Access, authorizationOf, Stamping, withoutWaiting } from './stamping.ts';
import { Workflow, type WorkflowAccess } from './workflow.ts';

export interface QstampOptions extends ExchangeOptions {
  /** Stamps are then made for its product; without it, as an agent. Never give it to a browser. */
  readonly serviceToken?: string | undefined;
}

/** Between looks for a stamp that the service does not expect. */
const lookMs = 1_000;

/** A qstamp service. */
export class Qstamp extends Stamping<StampToken> {
  readonly #access: Access;
  /** Where the service is, without a slash at the end. */
  readonly url: string;
  /**
   * The same calls, answered as soon as the stamp is sure to be made: with its id and address, or, where a key is used again, with the stamp.
   * `untilStamped` waits for it, here or elsewhere.
   */
  readonly later: Stamping<AcceptedStamp | StampToken>;

  constructor({ serviceToken, ...options }: QstampOptions) {
    const access = { exchange: createExchange(options), serviceToken };
    super(access);
    this.#access = access;
    this.url = access.exchange.baseUrl;
    this.later = new Stamping(access, withoutWaiting);
  }

  /** What the service says of a stamp that is on its way, once it is there. Limit it by a signal: a stamp that nobody asked for never comes. */
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

  /** What the service says of a stamp, by its id. To judge a stamp without the service, use the `qstamp` command or a bundle. */
  verify(stampId: string, { signal }: CallOptions = {}): Promise<VerificationResult> {
    return this.#verify(stampId, { signal });
  }

  /** What the service says of a time-stamp token, its own or of a TSA that it trusts; with a hash, whether the token is for that. */
  verifyToken(token: string, { hash, signal }: CallOptions & { readonly hash?: string } = {}): Promise<VerificationResult> {
    const body = { token, ...(hash !== undefined && { hash: hash.toLowerCase() }) };
    return this.#access.exchange.send({ method: 'POST', path: '/api/v1/verify/v1/raw', body, signal });
  }

  /** Whether the service's stamp is for this file, as it is now; the file is hashed here. */
  async verifyFile(file: FileSource, { token }: Pick<StampToken, 'token'>, options: CallOptions = {}): Promise<VerificationResult> {
    return this.verifyToken(token, { ...options, hash: await sha256OfFile(file) });
  }

  /**
   * The proof of a stamp, as it is beside `token` in the answer to a request for one: DER of the time-stamp token, or of the evidence record where
   * many stamps share a token.
   *
   * @throws NotFound where there is none, as of a test stamp
   */
  async fetchToken(stampId: string, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    const { bytes, headers } = await this.#download(stampId, 'token', options);
    // That token is for the root of a batch: the way from this stamp's hash to it is in the record.
    return headers.has('qstamp-batch') ? this.fetchEvidenceRecord(stampId, options) : bytes;
  }

  /** DER of the evidence record of a stamp (RFC 4998), with its renewals. @throws NotFound where there is none */
  async fetchEvidenceRecord(stampId: string, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.#download(stampId, 'evidence', options)).bytes;
  }

  /** Has the evidence of a stamp cover its content's hash of a stronger algorithm. The content is sent, hashed by the service, and not kept. */
  renewEvidence(stampId: string, content: Blob, { signal }: CallOptions = {}): Promise<EvidenceRenewal> {
    const headers = authorizationOf(this.#access);
    return this.#access.exchange.send({ method: 'POST', path: `${pathOf(stampId)}/evidence`, headers, body: content, signal });
  }

  /** All evidence of a completed workflow, which anybody may fetch: a zip file of any size, piece by piece. */
  fetchBundle(workflowId: string, { signal }: CallOptions = {}): AsyncGenerator<Uint8Array> {
    return this.#access.exchange.fetchPieces({ method: 'GET', path: `/workflow/${encodeURIComponent(workflowId)}/evidence.zip`, signal });
  }

  /** Starts a workflow: the client gets a mail with a link. */
  async startWorkflow(options: StartOptions): Promise<Workflow> {
    const { signal, idempotencyKey, ...fields } = options;
    const { briefing, briefing_hash, ...rest } = { briefing: undefined, briefing_hash: undefined, ...fields };
    const bytes = typeof briefing === 'string' ? new TextEncoder().encode(briefing) : briefing;
    const hash = bytes === undefined ? checkedHash(briefing_hash ?? '') : await sha256Of(bytes);
    // Who is to be told by a webhook must be known.
    const known = rest.callback_url ? authorizationOf(this.#access) : {};
    const headers = { ...known, ...keyedHeaders(idempotencyKey === undefined ? {} : { idempotencyKey }) };
    const body = { ...rest, briefing_hash: hash };
    const call = { method: 'POST', path: '/api/v1/workflow/start', headers, body, signal } as const;
    const started = await this.#access.exchange.send<WorkflowStartResponse>(call);
    return new Workflow(this.#access, started, started);
  }

  /** A workflow that was started before, perhaps elsewhere. */
  openWorkflow(access: WorkflowAccess): Workflow {
    return new Workflow(this.#access, access);
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
    return /^https?:\/\//.test(path) ? path : `${this.url}${path}`;
  }

  #verify(stampId: string, options: Pick<Call, 'headers' | 'signal'>): Promise<VerificationResult> {
    return this.#access.exchange.send({ method: 'GET', path: pathOf(stampId), ...options });
  }

  #download(stampId: string, part: 'token' | 'evidence', { signal }: CallOptions) {
    return this.#access.exchange.fetchBytes({ method: 'GET', path: `${pathOf(stampId)}/${part}`, headers: { accept: '*/*' }, signal });
  }
}

const pathOf = (stampId: string): string => `/api/v1/verify/v1/token/${encodeURIComponent(stampId)}`;

/** The code in front of a `reason`; undefined of a result that is valid. */
export const reasonCodeOf = ({ reason }: Pick<VerificationResult, 'reason'>): ReasonCode | (string & {}) | undefined =>
  reason?.split(':', 1)[0];

/** The result, where it is valid. @throws NotValid with the reason */
export function requireValid(result: VerificationResult): VerificationResult {
  if (result.valid) return result;
  throw new NotValid(result.reason ?? 'the service gave no reason');
}
