/// <reference lib="esnext.disposable" preserve="true" />
import { type Content, type FileSource, sha256Of, sha256OfFile } from './content.ts';
import type {
  WorkflowCompleteResponse,
  WorkflowRedactResponse,
  WorkflowResendResponse,
  WorkflowStampResponse,
  WorkflowState,
} from './contract.ts';
import { QstampError } from './errors.ts';
import { type Exchange, waitFor } from './exchange.ts';
import { type Outcome, sendInPieces } from './outcomes.ts';
import { type CallOptions, checkedHash, type KeyedOptions, keyedHeaders, keyOfPiece, mostItems, type OutputOptions } from './requests.ts';

/** What opens a workflow again, in another process too. Keep the token as a secret: it is told once. */
export interface WorkflowAccess {
  readonly workflow_id: string;
  readonly workflow_token: string;
}

/** One of many outputs: its hash and type. */
export interface OutputToStamp extends Omit<OutputOptions, keyof KeyedOptions> {
  readonly output_hash: string;
}

const lookMs = 2_000;

/**
 * A workflow under way. Outputs are numbered in the order of the calls, also of calls that nobody awaits. `await using` waits for them at the end
 * of its block, and completes nothing: whether the work was done, only `complete()` can say.
 */
export class Workflow {
  readonly id: string;
  readonly token: string;
  readonly #exchange: Exchange;
  /** The last call: the next begins after it, since their order is part of what the workflow proves. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(exchange: Exchange, { workflow_id, workflow_token }: WorkflowAccess) {
    this.#exchange = exchange;
    this.id = workflow_id;
    this.token = workflow_token;
  }

  /** The public page. */
  get pageUrl(): string {
    return `${this.#exchange.baseUrl}/workflow/${this.id}`;
  }

  /** Stamps a hash as the next output. */
  stampHash(hash: string, options: OutputOptions): Promise<WorkflowStampResponse> {
    return this.#stamp(async () => checkedHash(hash), options);
  }

  /** Stamps a file as the next output; only its hash is sent. */
  stampFile(file: FileSource, options: OutputOptions): Promise<WorkflowStampResponse> {
    return this.#stamp(() => sha256OfFile(file), options);
  }

  /** Stamps bytes as the next output; only their hash is sent. */
  stampBytes(content: Content, options: OutputOptions): Promise<WorkflowStampResponse> {
    return this.#stamp(() => sha256Of(content), options);
  }

  /** Stamps a text, as UTF-8, as the next output; only its hash is sent. */
  stampText(text: string, { output_type = 'text', ...options }: Partial<OutputOptions> = {}): Promise<WorkflowStampResponse> {
    return this.#stamp(() => sha256Of(new TextEncoder().encode(text)), { output_type, ...options });
  }

  /** Stamps many hashes as the next outputs, numbered in this order; each succeeds or fails for itself. */
  stampMany(outputs: readonly OutputToStamp[], options: KeyedOptions = {}): Promise<Outcome<WorkflowStampResponse>[]> {
    const items = outputs.map(({ output_hash, ...rest }) => ({ ...rest, output_hash: checkedHash(output_hash) }));
    const callOf = (index: number) => this.#post('stamps', { ...options, ...keyOfPiece(options, index) });
    return this.#next(() => sendInPieces<WorkflowStampResponse>(this.#exchange, items, mostItems.workflow, callOf));
  }

  /** Where it stands. */
  state({ signal }: CallOptions = {}): Promise<WorkflowState> {
    return this.#exchange.send({ method: 'GET', path: this.#path, headers: this.#authorization, signal });
  }

  /** Resolves when the client has opened the link in the mail. @throws QstampError when it expired or was completed before; the signal's reason */
  async untilConfirmed({ signal }: CallOptions = {}): Promise<WorkflowState> {
    for (;;) {
      const state = await this.state(signal ? { signal } : {});
      if (state.confirmed_at !== null) return state;
      if (state.status !== 'pending') throw new QstampError(`the workflow is ${state.status}, and nobody opened the link`);
      await waitFor(lookMs, signal);
    }
  }

  /** Closes it under one Merkle root, after the calls that are under way. Completing again gives the same answer. */
  complete(options: KeyedOptions = {}): Promise<WorkflowCompleteResponse> {
    return this.#next(() => this.#exchange.send(this.#post('complete', options)));
  }

  /** Mails a new link and ends the old one. */
  resendLink(options: KeyedOptions = {}): Promise<WorkflowResendResponse> {
    return this.#exchange.send(this.#post('resend', options));
  }

  /** Erases the client's e-mail address, the agent's id and all metadata, for good. */
  redact(options: KeyedOptions = {}): Promise<WorkflowRedactResponse> {
    return this.#exchange.send(this.#post('redact-pii', options));
  }

  /** Waits for the calls that are under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
  }

  #stamp(hash: () => Promise<string>, options: OutputOptions): Promise<WorkflowStampResponse> {
    const { output_type, output_metadata, ...call } = options;
    return this.#next(async () => {
      const body = { output_hash: await hash(), output_type, ...(output_metadata && { output_metadata }) };
      return this.#exchange.send({ ...this.#post('stamp', call), body });
    });
  }

  #next<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#last.then(step);
    this.#last = result.catch(() => undefined);
    return result;
  }

  get #path(): string {
    return `/api/v1/workflow/${encodeURIComponent(this.id)}`;
  }

  get #authorization() {
    return { authorization: `Workflow ${this.token}` };
  }

  #post(operation: string, options: KeyedOptions) {
    const headers = { ...this.#authorization, ...keyedHeaders(options) };
    return { method: 'POST', path: `${this.#path}/${operation}`, headers, signal: options.signal } as const;
  }
}
