/// <reference lib="esnext.disposable" preserve="true" />
import { type Content, type FileSource, sha256Of, sha256OfFile } from './content.ts';
import type {
  AcceptedOutput,
  WorkflowCompleteResponse,
  WorkflowRedactResponse,
  WorkflowResendResponse,
  WorkflowStampResponse,
  WorkflowStartResponse,
  WorkflowState,
} from './contract.ts';
import { QstampError } from './errors.ts';
import { type Call, type Exchange, waitFor } from './exchange.ts';
import { type Outcome, sendInPieces } from './outcomes.ts';
import { type CallOptions, checkedHash, type KeyedOptions, keyedHeaders, keyOfPiece, mostItems, type OutputOptions } from './requests.ts';
import { type Access, authorizationOf, withoutWaiting } from './stamping.ts';

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

/** What the outputs of a workflow share: they are numbered in the order of the calls. */
interface Turns {
  /** Posts to an operation of the workflow; with `isKnown` also as the product. */
  post(operation: string, options: KeyedOptions, isKnown?: boolean): Call;
  readonly exchange: Exchange;
  next<T>(step: () => Promise<T>): Promise<T>;
}

/** Stamps outputs; they are numbered in the order of the calls, also of calls that nobody awaits. */
export class OutputStamping<Made> {
  readonly #turns: Turns;
  readonly #preference: Readonly<Record<string, string>>;

  constructor(turns: Turns, preference: Readonly<Record<string, string>> = {}) {
    this.#turns = turns;
    this.#preference = preference;
  }

  /** Stamps a hash as the next output. */
  stampHash(hash: string, options: OutputOptions): Promise<Made> {
    return this.#stamp(async () => checkedHash(hash), options);
  }

  /** Stamps a file as the next output; only its hash is sent. */
  stampFile(file: FileSource, options: OutputOptions): Promise<Made> {
    return this.#stamp(() => sha256OfFile(file), options);
  }

  /** Stamps bytes as the next output; only their hash is sent. */
  stampBytes(content: Content, options: OutputOptions): Promise<Made> {
    return this.#stamp(() => sha256Of(content), options);
  }

  /** Stamps a text, as UTF-8, as the next output; only its hash is sent. */
  stampText(text: string, { output_type = 'text', ...options }: Partial<OutputOptions> = {}): Promise<Made> {
    return this.#stamp(() => sha256Of(new TextEncoder().encode(text)), { output_type, ...options });
  }

  /** Stamps many hashes as the next outputs, numbered in this order; each succeeds or fails for itself. */
  stampMany(outputs: readonly OutputToStamp[], options: KeyedOptions = {}): Promise<Outcome<Made>[]> {
    const items = outputs.map(({ output_hash, ...rest }) => ({ ...rest, output_hash: checkedHash(output_hash) }));
    const isKnown = items.some(({ callback_url }) => callback_url);
    const callOf = (index: number) => this.#call('stamps', { ...options, ...keyOfPiece(options, index) }, isKnown);
    return this.#turns.next(() => sendInPieces<Made>(this.#turns.exchange, items, mostItems.workflow, callOf));
  }

  #stamp(hash: () => Promise<string>, { output_type, output_metadata, callback_url, ...call }: OutputOptions): Promise<Made> {
    return this.#turns.next(async () => {
      const said = { ...(output_metadata && { output_metadata }), ...(callback_url && { callback_url }) };
      const body = { output_hash: await hash(), output_type, ...said };
      return this.#turns.exchange.send<Made & object>({ ...this.#call('stamp', call, Boolean(callback_url)), body });
    });
  }

  #call(operation: string, options: KeyedOptions, isKnown: boolean): Call {
    const call = this.#turns.post(operation, options, isKnown);
    return { ...call, headers: { ...call.headers, ...this.#preference } };
  }
}

/** A workflow under way. `await using` waits for its calls at the end of its block, and completes nothing: whether the work was done, only `complete()` can say. */
export class Workflow extends OutputStamping<WorkflowStampResponse> {
  readonly id: string;
  readonly token: string;
  /** What the start was answered with: until when it is open, and where the link was mailed. Undefined of one that was opened again. */
  readonly started: WorkflowStartResponse | undefined;
  /**
   * The same calls, answered as soon as the output is sure to be stamped and numbered: with the id of its stamp, or, where a key is used again, with
   * the output. `complete()` waits for all of them.
   */
  readonly later: OutputStamping<AcceptedOutput | WorkflowStampResponse>;
  readonly #turns: Turns;

  constructor(access: Access, { workflow_id, workflow_token }: WorkflowAccess, started?: WorkflowStartResponse) {
    const headers = { authorization: `Workflow ${workflow_token}` };
    const path = pathOf(workflow_id);
    /** The last call: the next begins after it, since their order is part of what the workflow proves. */
    let last: Promise<unknown> = Promise.resolve();
    const turns: Turns = {
      exchange: access.exchange,
      post: (operation, options, isKnown = false) => ({
        method: 'POST',
        path: `${path}/${operation}`,
        headers: { ...headers, ...(isKnown && authorizationOf(access)), ...keyedHeaders(options) },
        signal: options.signal,
      }),
      next: (step) => {
        const result = last.then(step);
        last = result.catch(() => undefined);
        return result;
      },
    };
    super(turns);
    this.#turns = turns;
    this.later = new OutputStamping(turns, withoutWaiting);
    this.started = started;
    this.id = workflow_id;
    this.token = workflow_token;
  }

  /** The public page. */
  get pageUrl(): string {
    return `${this.#turns.exchange.baseUrl}/workflow/${this.id}`;
  }

  /** Where it stands. */
  state({ signal }: CallOptions = {}): Promise<WorkflowState> {
    const headers = { authorization: `Workflow ${this.token}` };
    return this.#turns.exchange.send({ method: 'GET', path: pathOf(this.id), headers, signal });
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
    return this.#turns.next(() => this.#turns.exchange.send(this.#turns.post('complete', options)));
  }

  /** Mails a new link and ends the old one. */
  resendLink(options: KeyedOptions = {}): Promise<WorkflowResendResponse> {
    return this.#turns.exchange.send(this.#turns.post('resend', options));
  }

  /** Erases the client's e-mail address, the agent's id and all metadata, for good. */
  redact(options: KeyedOptions = {}): Promise<WorkflowRedactResponse> {
    return this.#turns.exchange.send(this.#turns.post('redact-pii', options));
  }

  /** Waits for the calls that are under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turns.next(async () => undefined);
  }
}

const pathOf = (workflowId: string): string => `/api/v1/workflow/${encodeURIComponent(workflowId)}`;
