import { z } from 'zod';

export type JsonSchema = Readonly<Record<string, unknown>>;

const refPrefix = '#/components/schemas/';

/** Collects the named schemas of a document while its operations are described. */
export interface SchemaCollector {
  /** The JSON Schema of a request (`input`) or an answer (`output`): a reference if the schema has a name. */
  schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema;
  readonly components: Readonly<Record<string, JsonSchema>>;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Makes references point to the components of the document instead of `$defs`. Replaces a list in `type` by an `anyOf` with one type in each branch,
 * because some code generators do not support such a list.
 */
function adapted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(adapted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (name === '$ref' && typeof member === 'string') return [name, member.replace('#/$defs/', refPrefix)];
      // Zod writes a list only for types without constraints, so nothing else needs to move into the branches.
      if (name === 'type' && Array.isArray(member)) return ['anyOf', member.map((type) => ({ type }))];
      return [name, adapted(member)];
    }),
  );
}

export function createSchemaCollector(): SchemaCollector {
  const components: Record<string, JsonSchema> = {};

  function convert(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const converted = z.toJSONSchema(schema, {
      io,
      target: 'draft-2020-12',
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        // A pattern beside a format is redundant. The bounds of safe integers are removed because they do not help a reader.
        if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        const fallback = z.globalRegistry.get(zodSchema)?.default;
        if (fallback !== undefined) jsonSchema.default = fallback as typeof jsonSchema.default;
      },
    });
    const { $schema, $defs, id, ...body } = adapted(converted) as Record<string, unknown>;
    if (isObject($defs)) {
      for (const [name, definition] of Object.entries($defs)) {
        if (!isObject(definition)) continue;
        const { id: definitionId, ...rest } = definition;
        components[name] ??= rest;
      }
    }
    if (typeof id !== 'string') return body;
    components[id] ??= body;
    return { $ref: `${refPrefix}${id}` };
  }
  return { schemaOf: convert, components };
}
