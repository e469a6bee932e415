import { z } from 'zod';

/**
 * The JSON Schema of a tool's arguments, in the words that all assistants know: no dialect, and no `null` beside another type.
 * Null is taken where a member may be left out, but several assistants refuse a tool that says so.
 */
export function inputSchemaOf(contract: z.ZodType): Readonly<Record<string, unknown>> {
  const { $schema, ...schema } = z.toJSONSchema(contract, { io: 'input', override: ({ jsonSchema }) => dropNull(jsonSchema) });
  return schema;
}

function dropNull(schema: z.core.JSONSchema.BaseSchema): void {
  if (Array.isArray(schema.type)) schema.type = schema.type.filter((type) => type !== 'null')[0] ?? 'null';
  const branches = schema.anyOf?.filter((branch) => typeof branch === 'boolean' || branch.type !== 'null');
  const [only] = branches ?? [];
  if (branches?.length !== 1 || typeof only !== 'object') return;
  delete schema.anyOf;
  Object.assign(schema, { ...only, ...schema });
}
