import type { z } from 'zod';
import { ServiceError } from '../../../shared/domain/service-error.ts';
import { statusOf } from '../../http/error-status.ts';
import { errorBody } from '../../http/errors.ts';
import { type Fault, faultOf, validationFault } from '../../http/outcome.ts';
import { type ValidationItem, validationItems } from '../../http/validation-items.ts';
import type { CallGuards } from '../call-guards.ts';
import { rateLimitError } from '../json-rpc.ts';
import { answerSchemaOf, inputSchemaOf } from './json-schema.ts';

/** The caller of a tool, and everything in the call except the arguments. */
export interface ToolCall {
  /** The product of the service token. */
  readonly product: string;
  readonly requestId: string;
  /** `_meta.idempotency_key` of the call, or the header. */
  readonly idempotencyKey: string | undefined;
  readonly guards: CallGuards;
  /**
   * The tool calls this if an earlier call with the same key did the work. The answer is then the same, and a response header says that it is
   * repeated.
   */
  readonly onReplayed: () => void;
  /** Records why the call was refused or failed. */
  readonly note: (fault: Fault) => void;
}

/**
 * The result of `tools/call` (M5): the same object twice, as text for the assistant and as data for the program. An error is only text: clients check
 * data against the tool's `outputSchema`, and would hide the reason.
 */
export interface ToolResult {
  readonly content: readonly [{ readonly type: 'text'; readonly text: string }];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

/** A page or file that belongs to a result, with an absolute address. */
export interface ResourceLink {
  readonly uri: string;
  readonly name: string;
  readonly mimeType: string;
}

/** A result, and its links, for revisions that support them. */
export interface CalledTool {
  readonly result: ToolResult;
  readonly links: readonly ResourceLink[];
}

/** A tool as `tools/list` shows it. */
interface ToolDefinition {
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
  /** The definition for clients of later revisions, always with `outputSchema`. */
  readonly modernDefinition: ToolDefinition;
  /**
   * Runs the tool. If a failure has a reason that the assistant can use, it becomes a result with `isError`.
   *
   * @throws RpcError −32029 beyond a rate limit; every unexpected error
   */
  call(given: unknown, call: ToolCall): Promise<CalledTool>;
}

interface ToolOptions<Schema extends z.ZodType, Answer extends z.ZodType>
  extends Pick<ToolDefinition, 'name' | 'description' | 'annotations'> {
  readonly arguments: Schema;
  /** The answer if nothing failed. */
  readonly answer: Answer;
  /**
   * True for the three tools of the published interface. For clients of the first revision their definition must not change, so it has no
   * `outputSchema`.
   */
  readonly isOfContract?: true;
  readonly run: (given: z.output<Schema>, call: ToolCall) => Promise<z.output<Answer> & object>;
  readonly links?: (answer: z.output<Answer>) => readonly ResourceLink[];
}

/** Creates a tool. The contract of its arguments checks them, and the JSON Schema is made from the same contract. */
export function createTool<Schema extends z.ZodType, Answer extends z.ZodType>(options: ToolOptions<Schema, Answer>): Tool {
  const { name, description, annotations, arguments: contract, answer, isOfContract, run, links = () => [] } = options;
  const inputSchema = inputSchemaOf(contract);
  const modernDefinition = { name, description, inputSchema, outputSchema: answerSchemaOf(answer), annotations };
  return {
    definition: isOfContract ? { name, description, inputSchema, annotations } : modernDefinition,
    modernDefinition,
    call: async (given, call) => {
      try {
        const parsed = contract.safeParse(given);
        if (!parsed.success) {
          const detail = faultsOf(parsed.error, given);
          call.note(validationFault(detail));
          return failed({ detail });
        }
        const answered = await run(parsed.data, call);
        const text = JSON.stringify(answered);
        const structuredContent = answered as Readonly<Record<string, unknown>>;
        return { result: { content: [{ type: 'text', text }], structuredContent, isError: false }, links: links(answered) };
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (statusOf[error.code] === 429) throw rateLimitError(error, call.requestId);
        return failed(failureOf(error, call));
      }
    },
  };
}

const failed = (reason: Readonly<Record<string, unknown>>): CalledTool => ({
  result: { content: [{ type: 'text', text: JSON.stringify(reason) }], isError: true },
  links: [],
});

/** The same items as in a 422 of the REST API, but without `input`: the assistant knows its input, and each word costs it money. */
function faultsOf(error: z.ZodError, given: unknown): Omit<ValidationItem, 'input'>[] {
  return validationItems(error, given, ['arguments']).map(({ input, ...item }) => item);
}

/** The error body of the REST API, and the number of seconds that REST sends in `Retry-After`. */
function failureOf(error: ServiceError, { requestId, note }: ToolCall): Readonly<Record<string, unknown>> {
  const { retryAfterSeconds } = error;
  note(faultOf(error));
  return { ...errorBody(error, requestId), ...(retryAfterSeconds !== undefined && { retry_after_seconds: retryAfterSeconds }) };
}
