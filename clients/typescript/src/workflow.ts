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
import { type Answered, type Call, type CallOptions, type Exchange, waitFor } from './exchange.ts';
import { type Outcome, sendInPieces } from './outcomes.ts';
import {
  checkedHash,
  defaultOutputType,
  detailed,
  encoded,
  endOf,
  type KeyedOptions,
  keyedHeaders,
  keyOfPiece,
  mostItems,
  type OutputOptions,
  type WaitOptions,
} from './requests.ts';
import { type Access, authorizationOf, withoutWaiting } from './stamping.ts';

/** The data that opens a workflow again, also in another process. Keep the token secret: it is shown only once. */
export interface WorkflowAccess {
  readonly workflow_id: string;
  readonly workflow_token: string;
}

/** An item of a list of outputs: its hash and type. */
export interface OutputToStamp extends Omit<OutputOptions, keyof KeyedOptions> {
  readonly output_hash: string;
}

const lookMs = 2_000;

/** Runs the calls of a workflow one after the other, so that outputs are numbered in the order of the calls. */
interface Turns {
  /** A POST to the workflow. With `isKnown`, it also contains the service token. */
  post(operation: string, options: KeyedOptions, isKnown?: boolean): Call;
  readonly exchange: Exchange;
  next<T>(step: () => Promise<T>): Promise<T>;
}

/** Stamps outputs. They are numbered in the order of the calls, even if you do not await each call. */
export class OutputStamping<Made> {
  readonly #turns: Turns;
  readonly #preference: Readonly<Record<string, string>>;

  constructor(turns: Turns, preference: Readonly<Record<string, string>> = {}) {
    this.#turns = turns;
    this.#preference = preference;
  }

  /** Stamps a hash as the next output. */
  stampHash(hash: string, options: OutputOptions = {}): Promise<Made> {
    return this.#stamp(async () => checkedHash(hash), options);
  }

  /** Stamps a file as the next output; only its hash is sent. */
  stampFile(file: FileSource, options: OutputOptions = {}): Promise<Made> {
    return this.#stamp(() => sha256OfFile(file), options);
  }

  /** Stamps bytes as the next output; only their hash is sent. */
  stampBytes(content: Content, options: OutputOptions = {}): Promise<Made> {
    return this.#stamp(() => sha256Of(content), options);
  }

  /** Stamps a text in UTF-8 as the next output; only its hash is sent. */
  stampText(text: string, { output_type = 'text', ...options }: OutputOptions = {}): Promise<Made> {
    return this.#stamp(() => sha256Of(encoded(text)), { output_type, ...options });
  }

  /** Stamps many hashes as the next outputs, numbered in this order. Each hash succeeds or fails separately. */
  stampMany(outputs: readonly OutputToStamp[], options: KeyedOptions = {}): Promise<Outcome<Made>[]> {
    const items = outputs.map(({ output_hash, output_type = defaultOutputType, ...rest }) => ({
      ...rest,
      output_type,
      output_hash: checkedHash(output_hash),
    }));
    const isKnown = items.some(({ callback_url }) => callback_url);
    const callOf = (index: number) => this.#call('stamps', { ...options, ...keyOfPiece(options, index) }, isKnown);
    return this.#turns.next(() => sendInPieces<Made>(this.#turns.exchange, items, mostItems.workflow, callOf));
  }

  #stamp(
    hash: () => Promise<string>,
    { output_type = defaultOutputType, output_metadata, callback_url, ...call }: OutputOptions,
  ): Promise<Made> {
    return this.#turns.next(async () => {
      const said = { ...(output_metadata && { output_metadata }), ...(callback_url && { callback_url }) };
      const body = { output_hash: await hash(), output_type, ...said };
      return this.#turns.exchange.send<Made & object>({ ...this.#call('stamp', call, Boolean(callback_url)), body });
    });
  }

  #call(operation: string, options: KeyedOptions, isKnown: boolean): Call {
    const call = this.#turns.post(detailed(operation), options, isKnown);
    return { ...call, headers: { ...call.headers, ...this.#preference } };
  }
}

/**
 * An open workflow. `await using` waits for its calls at the end of the block, but does not complete the workflow: call `complete()` when the work is
 * done.
 */
export class Workflow extends OutputStamping<Answered<WorkflowStampResponse>> {
  readonly id: string;
  /**
   * The same calls, but they return as soon as the service has accepted the output. The result is the id of its stamp, or the output if the
   * idempotency key was used before. `complete()` waits until all accepted outputs are stamped.
   */
  readonly later: OutputStamping<Answered<AcceptedOutput | WorkflowStampResponse>>;
  readonly #turns: Turns;
  // These are private, so that a workflow in a log does not show its token.
  readonly #token: string;
  readonly #started: Answered<WorkflowStartResponse> | undefined;

  constructor(access: Access, { workflow_id, workflow_token }: WorkflowAccess, started?: Answered<WorkflowStartResponse>) {
    const headers = { authorization: `Workflow ${workflow_token}` };
    const path = pathOf(workflow_id);
    /** The end of the last call. The next call begins after it, because the workflow also proves the order of outputs. */
    let last: Promise<unknown> = Promise.resolve();
    const turns: Turns = {
      exchange: access.exchange,
      post: (operation, options, isKnown = false) => ({
        method: 'POST',
        path: `${path}/${operation}`,
        headers: { ...headers, ...(isKnown && authorizationOf(access)), ...keyedHeaders(options) },
        options,
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
    this.id = workflow_id;
    this.#token = workflow_token;
    this.#started = started;
  }

  /** Keep it secret. It is shown only once, and only it gives access to this workflow. */
  get token(): string {
    return this.#token;
  }

  /**
   * The answer to the start: it says how long the workflow is open, and to which address the link was mailed. It has the token too. Undefined for a
   * reopened workflow.
   */
  get started(): Answered<WorkflowStartResponse> | undefined {
    return this.#started;
  }

  /** The URL of the workflow's public page. */
  get pageUrl(): string {
    return `${this.#turns.exchange.baseUrl}/workflow/${this.id}`;
  }

  /** The state of the workflow. */
  state(options: CallOptions = {}): Promise<Answered<WorkflowState>> {
    const headers = { authorization: `Workflow ${this.token}` };
    return this.#turns.exchange.send({ method: 'GET', path: pathOf(this.id), headers, options });
  }

  /**
   * Resolves when the client has confirmed the e-mail address.
   *
   * @throws QstampError if the workflow expired or was completed before; the signal's reason; a TimeoutError after `timeout`
   */
  async untilConfirmed(options: WaitOptions = {}): Promise<Answered<WorkflowState>> {
    const signal = endOf(options);
    for (;;) {
      const state = await this.state({ signal });
      if (state.confirmed_at !== null) return state;
      if (state.status !== 'pending') throw new QstampError(`the workflow is ${state.status}, and the e-mail address was not confirmed`);
      await waitFor(lookMs, signal);
    }
  }

  /** Waits for the running calls, then closes the workflow under one Merkle root. Completing it again gives the same answer. */
  complete(options: KeyedOptions = {}): Promise<Answered<WorkflowCompleteResponse>> {
    return this.#turns.next(() => this.#turns.exchange.send(this.#turns.post('complete', options)));
  }

  /** Mails a new link. The old link becomes invalid. */
  resendLink(options: KeyedOptions = {}): Promise<Answered<WorkflowResendResponse>> {
    return this.#turns.exchange.send(this.#turns.post('resend', options));
  }

  /** Permanently erases the client's e-mail address, the agent's id and all metadata. */
  redact(options: KeyedOptions = {}): Promise<Answered<WorkflowRedactResponse>> {
    return this.#turns.exchange.send(this.#turns.post('redact-pii', options));
  }

  /** Waits for the running calls. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turns.next(async () => undefined);
  }
}

const pathOf = (workflowId: string): string => `/api/v1/workflow/${encodeURIComponent(workflowId)}`;
