import { type CommandParts, commandOf } from './curl.ts';
import type { ApiDocument, OperationObject } from './document.ts';
import { firstSteps, guide } from './guide.ts';

declare module '../http/views.ts' {
  interface PageModels {
    readonly docs: ReturnType<typeof docsPageOf>;
  }
}

const jsonType = 'application/json';

const schemaText = (schema: Readonly<Record<string, unknown>>): string => {
  const { $ref, type, enum: values, anyOf } = schema;
  if (typeof $ref === 'string') return $ref.slice($ref.lastIndexOf('/') + 1);
  if (Array.isArray(values)) return values.map(String).join(' | ');
  if (Array.isArray(anyOf)) return anyOf.map(schemaText).join(' | ');
  return String(type ?? 'any');
};

const pretty = (example: unknown): string => JSON.stringify(example, null, 2);

const tokenValues = { Authorization: 'Workflow, a blank and the workflow token', 'X-Service-Token': 'service token' };

const bodyOf = (schema: Parameters<typeof schemaText>[0], example: string) => ({
  ...{ schema: schemaText(schema), example },
  rows: example.split('\n').length + 1,
});

/** The id of an element, made from its title. */
const idOf = (title: string): string => title.toLowerCase().replace(/[^a-z0-9]+/g, '-');

/** Optional in the contract, but without it the operation does nothing. */
const neededQuery = ['challenge'];

/** One operation. Descriptions may contain CommonMark `code`. */
function operationOf(method: string, path: string, operation: OperationObject, baseUrl: string) {
  const body = operation.requestBody?.content[jsonType];
  const [scheme] = operation.security;
  const tokenHeader = scheme === undefined ? null : 'ServiceToken' in scheme ? 'X-Service-Token' : 'Authorization';
  const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const parts: CommandParts = {
    method: method.toUpperCase(),
    path,
    requiredToken: operation.security.length === 1 ? tokenHeader : null,
    query: (operation.parameters ?? []).flatMap(({ name, in: place, required, schema }) =>
      place === 'query' && ((required && schema.default === undefined) || neededQuery.includes(name)) ? [name] : [],
    ),
    body: type === undefined ? null : { type, example: media?.example },
    answers: Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
      status.startsWith('2') ? Object.keys(content) : [],
    ),
  };
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    // A line can break between the parts.
    ...{ path, pathParts: path.split(/(?=\/)/) },
    summary: operation.summary,
    description: operation.description ?? '',
    command: commandOf(parts, baseUrl),
    // The caller's token, if the operation needs one.
    token: tokenHeader && { header: tokenHeader, value: tokenValues[tokenHeader] },
    parameters: (operation.parameters ?? []).map(({ name, in: place, required, description = '', schema, example }) => ({
      name,
      place,
      required,
      description,
      type: schemaText(schema),
      // The first value of its field.
      value: place === 'path' && example !== undefined ? String(example) : '',
    })),
    body: body ? bodyOf(body.schema, pretty(body.example)) : null,
    answers: Object.entries(operation.responses).map(([status, { description, content = {} }]) => {
      const example = content[jsonType]?.example;
      return {
        status,
        description,
        mediaTypes: Object.keys(content),
        example: example === undefined ? null : pretty(example),
        isSuccess: status.startsWith('2'),
      };
    }),
  };
}

/** Turns the OpenAPI document into the model of the page `/docs`, with operations grouped by tag. */
export function docsPageOf(document: ApiDocument, baseUrl: string) {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      tag: operation.tags[0] ?? '',
      shown: operationOf(method, path, operation, baseUrl),
    })),
  );
  const groups = Map.groupBy(operations, ({ tag }) => tag);
  return {
    version: document.info.version,
    guide: [firstSteps, ...guide].map(({ title, paragraphs, commandAt }) => ({
      ...{ id: `guide-${idOf(title)}`, title, paragraphs },
      command: commandAt(baseUrl),
    })),
    groups: [...groups].map(([name, ofGroup]) => ({ id: idOf(name), name, operations: ofGroup.map(({ shown }) => shown) })),
  };
}
