import { z } from 'zod';
import { errorResponse, httpValidationError } from '../../shared/contract/error.ts';
import type { ErrorCode } from '../../shared/domain/service-error.ts';
import { statusOf } from '../http/error-status.ts';
import type { AnswerContract, OperationContract } from '../http/operation.ts';
import { examples } from './examples.ts';
import { guide } from './guide.ts';
import { createSchemaCollector, type JsonSchema, type SchemaCollector } from './schemas.ts';

/** A route of the application, with its contract. */
export interface DescribedRoute {
  readonly method: string;
  /** In Fastify's notation: `/token/:token_id`. */
  readonly url: string;
  readonly contract: OperationContract;
}

/** An operation of the OpenAPI document, with the parts that the page `/docs` uses. */
export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  /** Empty if no token is needed. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly ParameterObject[];
  readonly requestBody?: { readonly required: true; readonly content: Readonly<Record<string, MediaObject>> };
  readonly responses: Readonly<Record<string, AnswerObject>>;
}
interface ParameterObject {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
  readonly example?: unknown;
}
interface MediaObject {
  readonly schema: JsonSchema;
  readonly example?: unknown;
}
interface AnswerObject {
  readonly description: string;
  readonly headers?: JsonSchema;
  readonly content?: Readonly<Record<string, MediaObject>>;
}

export interface ApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

const securitySchemes = {
  ServiceToken: { type: 'apiKey', in: 'header', name: 'X-Service-Token', description: 'A service token. It identifies a product.' },
  WorkflowToken: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description: '`Workflow <WORKFLOW_TOKEN>`: the workflow token. Only the answer to the start of the workflow contains it.',
  },
} as const;

const descriptionOfStatus: Readonly<Record<number, string>> = {
  401: 'The token is missing or not valid.',
  403: 'Refused.',
  404: 'There is nothing at this address.',
  409: 'The request conflicts with the current state.',
  410: 'It existed and is gone.',
  413: 'The body is too large.',
  415: 'The body has a content coding.',
  422: 'The request breaks its contract; the answer names every issue.',
  429: 'Too many requests; come back after `Retry-After` seconds.',
  502: 'No provider could make the stamp.',
  503: 'The queue or the store cannot be reached, or too many jobs wait; come back after `Retry-After` seconds.',
  504: 'Accepted, or perhaps accepted, and not finished in time. The answer names the address where the outcome can be read.',
};

const headersOfStatus: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'WWW-Authenticate': 'The scheme to use.' },
  429: { 'Retry-After': 'Seconds.', 'RateLimit-Limit': 'Requests in a window.', 'RateLimit-Reset': 'Seconds until the window ends.' },
  503: { 'Retry-After': 'Seconds.' },
  504: { 'Retry-After': 'Seconds.' },
};

/** The failures that follow from the contract itself: they are possible for every route that needs a token or has a body. */
function impliedErrors({ body, authentication, isTokenOptional }: OperationContract): ErrorCode[] {
  return [
    ...(authentication && !isTokenOptional ? (['unauthorized'] as const) : []),
    ...(body ? (['payload_too_large', 'unsupported_media_type', 'overloaded'] as const) : []),
  ];
}

function describeSecurity({ authentication, isTokenOptional }: OperationContract): OperationObject['security'] {
  if (authentication === undefined) return [];
  const scheme = authentication === 'service' ? 'ServiceToken' : 'WorkflowToken';
  return [{ [scheme]: [] }, ...(isTokenOptional ? [{}] : [])];
}

function describeHeaders(headers: Readonly<Record<string, string>> | undefined): { headers?: JsonSchema } {
  if (!headers) return {};
  const described = Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]);
  return { headers: Object.fromEntries(described) };
}

const textTypes = ['text/html', 'application/x-ndjson'];

const nameOf = (schema: JsonSchema): string => String(schema.$ref ?? '').slice('#/components/schemas/'.length);

/** Describes an answer. Its example belongs to the schema or, for a failure, to `code`. */
function describeContent(collector: SchemaCollector, answer: AnswerContract, code?: ErrorCode): AnswerObject {
  const { content, headers, description } = answer;
  const media = Object.entries(content ?? {}).map(([type, described]) => {
    if (described === null) return [type, { schema: textTypes.includes(type) ? { type: 'string' } : { type: 'string', format: 'binary' } }];
    const schema = collector.schemaOf(described, 'output');
    const example = code
      ? {
          detail: descriptionOfStatus[statusOf[code]]?.replaceAll('`', '') ?? 'Something went wrong.',
          code,
          request_id: examples.requestId,
        }
      : (answer.example ?? examples.of(nameOf(schema)));
    return [type, { schema, ...(example !== undefined && { example }) }];
  });
  return { description, ...describeHeaders(headers), ...(content && { content: Object.fromEntries(media) }) };
}

function describeFailure(collector: SchemaCollector, status: number, codes: readonly ErrorCode[]): AnswerObject {
  const headers = headersOfStatus[status];
  const words = codes.map((code) => `\`${code}\``).join(', ');
  const answer = {
    description: `${descriptionOfStatus[status] ?? 'Anything else that goes wrong.'} ${codes.length > 1 ? 'Codes' : 'Code'}: ${words}.`,
    content: { 'application/json': errorResponse },
    ...(headers && { headers }),
  };
  return describeContent(collector, answer, codes[0]);
}

function describeAnswers(collector: SchemaCollector, contract: OperationContract): Record<string, AnswerObject> {
  const byStatus = Map.groupBy(new Set([...impliedErrors(contract), ...(contract.errors ?? [])]), (code) => statusOf[code]);
  const failures = [...byStatus].map(([status, codes]) => [status, describeFailure(collector, status, codes)]);
  const readsInput = !contract.isJudgedElsewhere && (contract.path ?? contract.query ?? contract.headers ?? contract.body);
  const invalid = { description: descriptionOfStatus[422] ?? '', content: { 'application/json': httpValidationError } };
  return {
    ...Object.fromEntries(failures),
    ...(readsInput && { 422: describeContent(collector, invalid) }),
    ...Object.fromEntries(Object.entries(contract.answers).map(([status, answer]) => [status, describeContent(collector, answer)])),
    default: describeFailure(collector, 500, ['internal_error', 'bad_request', 'request_timeout']),
  };
}

/** Turns the members of an object schema into path, query or header parameters. */
function describeParameters(
  collector: SchemaCollector,
  place: 'path' | 'query' | 'header',
  schema: z.ZodType | undefined,
): ParameterObject[] {
  if (!(schema instanceof z.ZodObject)) return [];
  const { properties = {}, required = [] } = collector.schemaOf(schema, 'input') as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(typeof description === 'string' && { description }),
    schema: rest,
    ...(examples.ofParameter(name) !== undefined && { example: examples.ofParameter(name) }),
  }));
}

function describeOperation(collector: SchemaCollector, { contract }: DescribedRoute): OperationObject {
  const parameters = [
    ...describeParameters(collector, 'path', contract.path),
    ...describeParameters(collector, 'query', contract.query),
    ...describeParameters(collector, 'header', contract.headers),
  ];
  const body = contract.body && collector.schemaOf(contract.body, 'input');
  const example = body && (contract.bodyExample ?? examples.of(nameOf(body)));
  return {
    operationId: contract.id,
    tags: [contract.tag],
    summary: contract.summary,
    ...(contract.description !== undefined && { description: contract.description }),
    security: describeSecurity(contract),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: Object.fromEntries(
          (contract.bodyTypes ?? ['application/json']).map((type) => [type, { schema: body, ...(example !== undefined && { example }) }]),
        ),
      },
    }),
    responses: describeAnswers(collector, contract),
  };
}

const summary =
  'Makes time-stamps (RFC 3161) for hashes and content, verifies them, and closes the outputs of a workflow under one Merkle root.';

/** Describes the routes, in their order, as an OpenAPI 3.1 document. */
export function describeApi(routes: readonly DescribedRoute[], { version }: { version: string }): ApiDocument {
  const collector = createSchemaCollector();
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const route of routes) {
    const path = route.url.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeOperation(collector, route) };
  }
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'qstamp',
      version,
      description: [summary, ...guide.map(({ title, paragraphs }) => [`## ${title}`, ...paragraphs].join('\n\n'))].join('\n\n'),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(routes.map(({ contract }) => contract.tag))].map((name) => ({ name })),
    paths,
    components: { securitySchemes, schemas: collector.components },
  };
  return document;
}
