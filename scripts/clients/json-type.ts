import type { JsonSchema } from '../../src/api/docs/examples.ts';

/** How a programming language writes types. */
export interface TypeWords {
  readonly primitives: Readonly<Record<'string' | 'integer' | 'number' | 'boolean' | 'null' | 'unknown', string>>;
  list(of: string): string;
  /** An object used as a map. */
  map(of: string): string;
  oneOf(values: readonly unknown[]): string;
  /** An object without its own name. */
  object(schema: JsonSchema): string;
}

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null && !Array.isArray(value);
const schemasIn = (value: unknown): JsonSchema[] => (Array.isArray(value) ? value.filter(isSchema) : []);

/** The members of an object schema, each with whether it is required. */
export const membersOf = ({ properties = {}, required = [] }: JsonSchema) =>
  Object.entries(properties as Record<string, JsonSchema>).map(([name, schema]) => ({
    name,
    schema,
    isRequired: (required as readonly string[]).includes(name),
    description: descriptionOf(schema),
  }));

export const descriptionOf = ({ description }: JsonSchema): string | undefined =>
  typeof description === 'string' ? description : undefined;

/** Writes the type of a value in a language. @throws Error for a kind of schema that the contract does not use yet */
export function typeOf(schema: JsonSchema, words: TypeWords): string {
  const { primitives } = words;
  if (typeof schema.$ref === 'string') return schema.$ref.split('/').at(-1) ?? '';
  if (Array.isArray(schema.anyOf)) return [...new Set(schemasIn(schema.anyOf).map((each) => typeOf(each, words)))].join(' | ');
  if (Array.isArray(schema.enum)) return words.oneOf(schema.enum);
  if ('const' in schema) return words.oneOf([schema.const]);
  if (schema.type === undefined) return primitives.unknown;
  if (schema.type === 'array') return words.list(typeOf(isSchema(schema.items) ? schema.items : {}, words));
  if (schema.type === 'object') {
    if (schema.properties !== undefined) return words.object(schema);
    return words.map(typeOf(isSchema(schema.additionalProperties) ? schema.additionalProperties : {}, words));
  }
  const type = primitives[schema.type as keyof typeof primitives];
  if (type === undefined) throw new Error(`no type for ${JSON.stringify(schema)}`);
  return type;
}
