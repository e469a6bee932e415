import { z } from 'zod';

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
export function inputSchemaOf(contract: z.ZodType): Schema {
  return inlined(z.toJSONSchema(contract, { io: 'input', override: ({ jsonSchema }) => dropNull(jsonSchema) }));
}

/** The JSON Schema (2020-12) of a tool's answer. Later releases may add members. */
export function answerSchemaOf(contract: z.ZodType): Schema {
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
