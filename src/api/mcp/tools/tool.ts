import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../../../shared/domain/service-error.ts';
import type { ServerContext } from '../../http/context.ts';
import { errorBody, type Fault, faultOf, statusOf, validationFault } from '../../http/errors.ts';
import { type ValidationItem, validationItems } from '../../http/validation.ts';
import { createMailLimits, type WorkflowTools } from '../../workflows/index.ts';
import { rateLimitError } from '../json-rpc.ts';

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

type Schema = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Replaces each reference by the schema that it names, and removes the names (`id`): several assistants refuse a tool with references or names. */
function inlined({ $schema, $defs, ...schema }: Schema): Schema {
  const definitions = isObject($defs) ? $defs : {};
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline);
    if (!isObject(value)) return value;
    const { $ref, id, ...rest } = value;
    // Some clients do not support a list in `type`, so it becomes an `anyOf` with one type in each branch.
    if (Array.isArray(rest.type)) {
      rest.anyOf = rest.type.map((type) => ({ type }));
      delete rest.type;
    }
    const named = typeof $ref === 'string' ? definitions[$ref.slice('#/$defs/'.length)] : undefined;
    // An empty schema means the same as `true`, and more clients accept `true`.
    if (isObject(rest.additionalProperties) && Object.keys(rest.additionalProperties).length === 0) rest.additionalProperties = true;
    const whole = { ...(isObject(named) && (inline(named) as object)), ...rest, ...(typeof id !== 'string' && id !== undefined && { id }) };
    return Object.fromEntries(
      Object.entries(whole).map(([name, member]) => [name, name === 'properties' ? members(member) : inline(member)]),
    );
  };
  /** The keys of `properties` are names of arguments, so a property named `id` is kept. */
  const members = (properties: unknown): unknown =>
    isObject(properties) ? Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, inline(member)])) : properties;
  return inline(schema) as Schema;
}

/**
 * The JSON Schema of a tool's arguments, only with keywords that all assistants know: without `$schema`, and without `null` beside another type.
 * Optional arguments may be null, but several assistants refuse a tool whose schema says so.
 */
function inputSchemaOf(contract: z.ZodType): Schema {
  return inlined(z.toJSONSchema(contract, { io: 'input', override: ({ jsonSchema }) => dropNull(jsonSchema) }));
}

/** The JSON Schema (2020-12) of a tool's answer. Later releases may add members. */
function answerSchemaOf(contract: z.ZodType): Schema {
  return inlined(
    z.toJSONSchema(contract, {
      io: 'output',
      unrepresentable: 'any',
      override: ({ jsonSchema }) => {
        if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
        if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      },
    }),
  );
}

function dropNull(schema: z.core.JSONSchema.BaseSchema): void {
  if (Array.isArray(schema.type)) schema.type = schema.type.filter((type) => type !== 'null')[0] ?? 'null';
  const branches = schema.anyOf?.filter((branch) => typeof branch === 'boolean' || branch.type !== 'null');
  const [only] = branches ?? [];
  if (branches?.length !== 1 || typeof only !== 'object') return;
  delete schema.anyOf;
  Object.assign(schema, { ...only, ...schema });
}

/** The rate limits of the REST API, applied to a tool call. Each function may throw ServiceError `rate_limited`. */
export interface CallGuards {
  /** Counts stamps of the product. */
  stamps(count: number): Promise<void>;
  /** Counts the start of a workflow, and the mail to its client. */
  start(email: string): Promise<void>;
  /** Counts outputs of a workflow. */
  outputs(workflowId: string, count: number): Promise<void>;
  /** Runs `work`, and counts a mistake if it fails because of a wrong workflow token or an unknown id (R5). */
  lookUp<Answer>(work: () => Promise<Answer>): Promise<Answer>;
}

/** Creates the guards of a call. They use the same counters as the REST API. A product's verifications are not counted. */
export function createCallGuards(context: ServerContext, tools: WorkflowTools) {
  const { mistakes, productLimit, outputLimit } = context;
  const mailLimits = createMailLimits(context, tools);
  return (request: FastifyRequest, reply: FastifyReply): CallGuards => ({
    stamps: (count) => productLimit.items(request, reply, count),
    start: (email) => mailLimits.start(request, reply, email),
    outputs: (workflowId, count) => outputLimit.items(request, reply, count, workflowId),
    lookUp: (work) => mistakes.guard(request, reply, work),
  });
}
