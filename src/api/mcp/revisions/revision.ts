import type { Fault } from '../../server/outcome.ts';
import type { CallGuards } from '../call-guards.ts';
import type { RpcResponse } from '../json-rpc.ts';

/** What a message comes with: the HTTP request around it. */
export interface RpcContext {
  /** The product of the request's service token, if it carries a valid one. */
  readonly product: string | undefined;
  /** It carries one that is not valid. */
  readonly hasWrongToken: boolean;
  /** Under what a caller without one is known. */
  readonly agent: string;
  readonly requestId: string;
  /** The header `Idempotency-Key` (M10). */
  readonly headerKey: string | undefined;
  readonly guards: CallGuards;
  /** Told of a call that an earlier one with the same idempotency key has answered already (S9). */
  readonly onReplayed: () => void;
  /** Takes what a message was refused for or failed by: for the log and the metrics. */
  readonly note: (fault: Fault) => void;
}

/** By lower-case names. */
export type McpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A body of the endpoint, read as JSON; undefined where there is none. */
export interface McpRequest {
  readonly body: unknown;
  readonly headers: McpHeaders;
}

export interface McpAnswer {
  readonly status: number;
  readonly body?: RpcResponse | readonly RpcResponse[];
}

/** One revision of the Model Context Protocol on the wire. What the tools do is the same in all. */
export interface Revision {
  /** Never rejects: faults of the protocol and defects of ours are answers too. */
  answer(request: McpRequest, context: RpcContext): Promise<McpAnswer>;
}
