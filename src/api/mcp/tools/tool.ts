import type { z } from 'zod';
import { ServiceError } from '../../../shared/domain/service-error.ts';
import { errorBody } from '../../http/errors.ts';
import { type Fault, faultOf, validationFault } from '../../http/outcome.ts';
import { type ValidationItem, validationItems } from '../../http/validation-items.ts';
import { inputSchemaOf } from './input-schema.ts';

/** Who calls a tool, and with what beside the arguments. */
export interface ToolCall {
  readonly product: string;
  readonly requestId: string;
  /** `_meta.idempotency_key` of the call (S9). */
  readonly idempotencyKey: string | undefined;
  /** To be called when an earlier call with the same key did what this one asks for: the answer is the same, its header says so. */
  readonly onReplayed: () => void;
  /** Takes what the call was refused for or failed by. */
  readonly note: (fault: Fault) => void;
}

/** The result of `tools/call` (M5): the same object as text, for the assistant, and as data, for the program. */
export interface ToolResult {
  readonly content: readonly [{ readonly type: 'text'; readonly text: string }];
  readonly structuredContent: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

/** What `tools/list` says of a tool (M2). */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly annotations: {
    readonly title: string;
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
}

export interface Tool {
  readonly definition: ToolDefinition;
  /** Failures that an assistant can correct or wait for are results with `isError` (M6). Only a defect of ours is thrown. */
  call(given: unknown, call: ToolCall): Promise<ToolResult>;
}

export interface ToolOptions<Schema extends z.ZodType> extends Omit<ToolDefinition, 'inputSchema'> {
  readonly arguments: Schema;
  readonly run: (given: z.output<Schema>, call: ToolCall) => Promise<Readonly<Record<string, unknown>>>;
}

/** A tool whose arguments keep a contract; its JSON Schema comes from the same contract. */
export function createTool<Schema extends z.ZodType>(options: ToolOptions<Schema>): Tool {
  const { name, description, annotations, arguments: contract, run } = options;
  return {
    definition: { name, description, inputSchema: inputSchemaOf(contract), annotations },
    call: async (given, call) => {
      try {
        const parsed = contract.safeParse(given);
        if (!parsed.success) {
          const detail = faultsOf(parsed.error, given);
          call.note(validationFault(detail));
          return resultOf({ detail }, true);
        }
        return resultOf(await run(parsed.data, call), false);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        return resultOf(failureOf(error, call), true);
      }
    },
  };
}

function resultOf(value: Readonly<Record<string, unknown>>, isError: boolean): ToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value, isError };
}

/** The items of a 422 (E1) without their `input`: the assistant knows what it sent, and each word costs it money. */
function faultsOf(error: z.ZodError, given: unknown): Omit<ValidationItem, 'input'>[] {
  return validationItems(error, given, ['arguments']).map(({ input, ...item }) => item);
}

/** The body that REST answers with (E3), and what it says in `Retry-After`. */
function failureOf(error: ServiceError, { requestId, note }: ToolCall): Readonly<Record<string, unknown>> {
  const { retryAfterSeconds } = error;
  note(faultOf(error));
  return { ...errorBody(error, requestId), ...(retryAfterSeconds !== undefined && { retry_after_seconds: retryAfterSeconds }) };
}
