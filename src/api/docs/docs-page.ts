import type { DocsOperation, DocsPage } from './docs-model.ts';
import type { ApiDocument, OperationObject } from './document.ts';
import { guide } from './guide.ts';

const jsonType = 'application/json';

const schemaText = (schema: Readonly<Record<string, unknown>>): string => {
  const { $ref, type, enum: values, anyOf } = schema;
  if (typeof $ref === 'string') return $ref.slice($ref.lastIndexOf('/') + 1);
  if (Array.isArray(values)) return values.map(String).join(' | ');
  if (Array.isArray(anyOf)) return anyOf.map(schemaText).join(' | ');
  return String(type ?? 'any');
};

const pretty = (example: unknown): string => JSON.stringify(example, null, 2);

function operationOf(method: string, path: string, operation: OperationObject): DocsOperation {
  const body = operation.requestBody?.content[jsonType];
  const [scheme] = operation.security;
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    summary: operation.summary,
    description: operation.description ?? '',
    tokenHeader: scheme === undefined ? null : 'ServiceToken' in scheme ? 'X-Service-Token' : 'Authorization',
    parameters: (operation.parameters ?? []).map(({ name, in: place, required, description = '', schema, example }) => ({
      name,
      place,
      required,
      description,
      type: schemaText(schema),
      example: example === undefined ? '' : String(example),
    })),
    body: body ? { schema: schemaText(body.schema), example: pretty(body.example) } : null,
    answers: Object.entries(operation.responses).map(([status, { description, content = {} }]) => {
      const example = content[jsonType]?.example;
      return {
        status,
        description,
        mediaTypes: Object.keys(content),
        example: example === undefined ? null : pretty(example),
      };
    }),
  };
}

/** Turns the OpenAPI document into the model of the page `/docs`, with operations grouped by tag. */
export function docsPageOf(document: ApiDocument): DocsPage {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ tag: operation.tags[0] ?? '', shown: operationOf(method, path, operation) })),
  );
  const groups = Map.groupBy(operations, ({ tag }) => tag);
  return {
    version: document.info.version,
    guide,
    groups: [...groups].map(([name, ofGroup]) => ({ name, operations: ofGroup.map(({ shown }) => shown) })),
  };
}
