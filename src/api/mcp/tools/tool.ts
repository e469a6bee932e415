import type { z } from 'zod';
import { ServiceError } from '../../../shared/domain/service-error.ts';
import { errorBody } from '../../server/errors.ts';
import { type Fault, faultOf, validationFault } from '../../server/outcome.ts';
import { type ValidationItem, validationItems } from '../../server/validation-items.ts';
import type { CallGuards } from '../call-guards.ts';
import { answerSchemaOf, inputSchemaOf } from './json-schema.ts';

/** Who calls a tool, and with what beside the arguments. */
export interface ToolCall {
  /** Of the service token; undefined only where the tool needs none. */
  readonly product: string | undefined;
  /** Under what a caller without a service token is known. */
  readonly agent: string;
  readonly requestId: string;
  /** `_meta.idempotency_key` of the call, or the header (S9, M10). */
  readonly idempotencyKey: string | undefined;
  readonly guards: CallGuards;
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

/** Something to open or to fetch that a result leads to, at an absolute address. */
export interface ResourceLink {
  readonly uri: string;
  readonly name: string;
  readonly mimeType: string;
}

/** A result; and what it leads to, for revisions that know links. */
export interface CalledTool {
  readonly result: ToolResult;
  readonly links: readonly ResourceLink[];
}

/** What `tools/list` says of a tool (M2). */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly annotations: {
    readonly title: string;
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
}

export interface Tool {
  /** For clients of the first revision. */
  readonly definition: ToolDefinition;
  /** The same with its `outputSchema` in any case. */
  readonly modernDefinition: ToolDefinition;
  /** Whether only callers with a service token may use it. */
  readonly needsToken: boolean;
  /** Failures that an assistant can correct or wait for are results with `isError` (M6). Only a defect of ours is thrown. */
  call(given: unknown, call: ToolCall): Promise<CalledTool>;
}

export interface ToolOptions<Schema extends z.ZodType, Answer extends z.ZodType>
  extends Pick<ToolDefinition, 'name' | 'description' | 'annotations'> {
  readonly arguments: Schema;
  /** What it answers where nothing failed. */
  readonly answer: Answer;
  /** One of the three of the interface, whose definition stays as it was for clients of the first revision (M2). */
  readonly isOfContract?: true;
  /** Default: yes. */
  readonly needsToken?: false;
  readonly run: (given: z.output<Schema>, call: ToolCall) => Promise<z.output<Answer> & object>;
  readonly links?: (answer: z.output<Answer>) => readonly ResourceLink[];
}

/** A tool whose arguments keep a contract; its JSON Schema comes from the same contract. */
export function createTool<Schema extends z.ZodType, Answer extends z.ZodType>(options: ToolOptions<Schema, Answer>): Tool {
  const { name, description, annotations, arguments: contract, answer, isOfContract, needsToken = true, run, links = () => [] } = options;
  const inputSchema = inputSchemaOf(contract);
  const modernDefinition = { name, description, inputSchema, outputSchema: answerSchemaOf(answer), annotations };
  return {
    definition: isOfContract ? { name, description, inputSchema, annotations } : modernDefinition,
    modernDefinition,
    needsToken,
    call: async (given, call) => {
      try {
        const parsed = contract.safeParse(given);
        if (!parsed.success) {
          const detail = faultsOf(parsed.error, given);
          call.note(validationFault(detail));
          return failed({ detail });
        }
        const answered = await run(parsed.data, call);
        return { result: resultOf(answered as Readonly<Record<string, unknown>>, false), links: links(answered) };
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        return failed(failureOf(error, call));
      }
    },
  };
}

function resultOf(value: Readonly<Record<string, unknown>>, isError: boolean): ToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value, isError };
}

const failed = (value: Readonly<Record<string, unknown>>): CalledTool => ({ result: resultOf(value, true), links: [] });

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
