import { createHash } from 'node:crypto';
import { z } from 'zod';

/**
 * An issue that says itself how pydantic v2 would put it (error-shapes.md): `type`, `msg` and `ctx` of one item of a 422.
 * Rules that zod has no issue for carry it in their `params`.
 */
export interface PydanticIssue {
  readonly type: string;
  readonly msg: string;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

/** The zod issue that carries it; rules over several fields are not tried once one was raised. */
export const issueOf = (issue: PydanticIssue, path: string[] = []) =>
  ({ code: 'custom', message: issue.msg, path, params: { pydantic: issue }, continue: false }) as const;

/** Adds a rule of one field whose failure is put by `judge`; the JSON Schema of the field comes from its `meta`. */
export function ruled<Schema extends z.ZodType>(schema: Schema, judge: (value: z.output<Schema>) => PydanticIssue | undefined): Schema {
  return schema.superRefine((value, context) => {
    const issue = judge(value as z.output<Schema>);
    if (issue) context.addIssue(issueOf(issue));
  }) as Schema;
}

/** A failed rule in one sentence, as a pydantic validator that raises ValueError. */
export const valueError = (sentence: string): PydanticIssue => ({
  type: 'value_error',
  msg: `Value error, ${sentence}`,
  ctx: { error: {} },
});

/** Length in code points, as Python counts. */
function codePointsUpTo(text: string, most: number): number {
  let count = 0;
  for (const _ of text) {
    count += 1;
    if (count > most) break;
  }
  return count;
}

export interface TextLimits {
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: string;
}

/** A text with pydantic's `min_length`, `max_length` (code points) and `pattern`, of which the first that fails is reported. */
export function text({ min = 0, max = Number.MAX_SAFE_INTEGER, pattern }: TextLimits) {
  const expression = pattern === undefined ? undefined : new RegExp(pattern, 'u');
  const schema = ruled(z.string(), (value) => {
    const length = codePointsUpTo(value, max);
    if (length < min) return { type: 'string_too_short', msg: `String should have at least ${characters(min)}`, ctx: { min_length: min } };
    if (length > max) return { type: 'string_too_long', msg: `String should have at most ${characters(max)}`, ctx: { max_length: max } };
    if (expression && !expression.test(value)) {
      return { type: 'string_pattern_mismatch', msg: `String should match pattern '${pattern}'`, ctx: { pattern } };
    }
    return undefined;
  });
  return schema.meta({
    ...(min > 0 && { minLength: min }),
    ...(max < Number.MAX_SAFE_INTEGER && { maxLength: max }),
    ...(pattern !== undefined && { pattern }),
  });
}

const characters = (count: number): string => `${count} character${count === 1 ? '' : 's'}`;

/** SHA-256 as 64 lower-case hexadecimal characters. */
export const sha256Hex = text({ min: 64, max: 64, pattern: '^[0-9a-f]{64}$' }).meta({
  description: 'SHA-256, 64 lower-case hexadecimal characters',
  examples: [createHash('sha256').update('').digest('hex')],
});

/** The most bytes that caller metadata may take as UTF-8 JSON (S4, W15). */
export const maxMetadataBytes = 4096;

/** Members of a caller's own, limited as a whole (S4, W15). */
export function metadata<Value extends z.ZodType>(value: Value) {
  return ruled(z.record(z.string(), value), (members) =>
    Buffer.byteLength(JSON.stringify(members)) > maxMetadataBytes
      ? valueError(`metadata takes at most ${maxMetadataBytes} bytes as UTF-8 JSON`)
      : undefined,
  ).meta({ description: `at most ${maxMetadataBytes} bytes as UTF-8 JSON` });
}

export const uuid = z.uuid();
export const dateTime = z.iso.datetime().describe('RFC 3339, UTC');
