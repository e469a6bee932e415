import { z } from 'zod';
import { issueOf, type PydanticIssue, ruled, text, valueError } from './fields.ts';

const unparsable: PydanticIssue = { type: 'int_parsing', msg: 'Input should be a valid integer, unable to parse string as an integer' };

/** An integer in a form that pydantic accepts: also with white space around it, a sign, leading zeros, or a fraction of zeros. */
const integer = /^\s*[+-]?[0-9]+(\.0+)?\s*$/;

interface IntegerBounds {
  readonly low: number;
  readonly high: number;
  /** The value if the parameter is absent. */
  readonly fallback: number;
}

/** Makes the schema of an integer in the query. It refuses a number outside the bounds. */
export function queryInteger({ low, high, fallback }: IntegerBounds) {
  return ruled(z.string(), (given) => (integer.test(given) ? outOfBounds(Number(given), low, high) : unparsable))
    .transform((given) => Number(given) || 0) // turns -0 into 0
    .default(fallback)
    .meta({ type: 'integer', minimum: low, maximum: high, default: fallback });
}

/** The query parameter `details`: whether answers also have the members that interface.md does not have (E15). */
export const detailsQuery = z.object({
  details: z
    // The words that pydantic takes for a boolean in the query.
    .stringbool({ truthy: ['true', '1', 'yes', 'on', 't', 'y'], falsy: ['false', '0', 'no', 'off', 'f', 'n'] })
    .default(false)
    .meta({
      type: 'boolean',
      default: false,
      description: '`true`: the answer also has our own members. `Prefer: return=details` does the same',
    }),
});

function outOfBounds(value: number, low: number, high: number): PydanticIssue | undefined {
  if (value < low) return { type: 'greater_than_equal', msg: `Input should be greater than or equal to ${low}`, ctx: { ge: low } };
  if (value > high) return { type: 'less_than_equal', msg: `Input should be less than or equal to ${high}`, ctx: { le: high } };
  return undefined;
}

const uuidForm = /^([0-9a-f]{8})(-?)([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{12})$/i;
const groupLengths = [8, 4, 4, 4, 12];

/** Explains why a text is not a UUID. The sentences about a character and a group length are those of pydantic. */
function uuidFault(text: string): string {
  const stranger = /[^0-9a-f-]/iu.exec(text);
  if (stranger) return `invalid character: found \`${stranger[0]}\` at ${stranger.index + 1}`;
  const groups = text.split('-');
  const wrong = groups.findIndex((group, index) => group.length !== groupLengths[index]);
  if (groups.length !== 5) return 'expected 32 hexadecimal digits, or five groups of them with hyphens between';
  return `invalid group length in group ${wrong}: expected ${groupLengths[wrong]}, found ${groups[wrong]?.length}`;
}

/** Accepts a UUID of any version, with or without hyphens, and converts it to lower case with hyphens. */
export const anyUuid = z
  .string()
  .transform((given, context): string => {
    if (uuidForm.test(given)) return given.toLowerCase().replace(uuidForm, '$1-$3-$4-$5-$6');
    const fault = uuidFault(given);
    context.addIssue(issueOf({ type: 'uuid_parsing', msg: `Input should be a valid UUID, ${fault}`, ctx: { error: fault } }));
    return z.NEVER;
  })
  .meta({ type: 'string', format: 'uuid' });

/** The `Idempotency-Key` header, for operations that accept it (S9). */
export const idempotencyHeaders = z.object({
  'idempotency-key': text({ min: 1, max: 255, pattern: '^[\\x21-\\x7e]*$' })
    .optional()
    .describe(
      'a key of your choice for this request: if you send it again with the same key, you get the first answer and nothing is done twice',
    ),
});

const shortestKeyOfAddress = 16;

/**
 * The `Idempotency-Key` header of a caller without a token. The key belongs to the caller's address, and everybody behind this address who guesses it
 * gets the first answer too, perhaps with a workflow token (S9).
 */
export const idempotencyHeadersOfAddress = idempotencyHeaders.extend({
  'idempotency-key': ruled(idempotencyHeaders.shape['idempotency-key'], (key) =>
    key === undefined || key.length >= shortestKeyOfAddress
      ? undefined
      : valueError(`without a service token, an idempotency key has at least ${shortestKeyOfAddress} characters`),
  ).meta({ ...idempotencyHeaders.shape['idempotency-key'].meta(), minLength: shortestKeyOfAddress }),
});

/** The `Prefer` header, for operations where a client can choose how long to wait (RFC 7240, N1). */
export const preferHeaders = z.object({
  prefer: z
    .string()
    .optional()
    .describe(
      '`respond-async`: 202 as soon as the request is accepted; when you ask for an outcome, `wait=10`: wait up to 10 seconds for it; `return=details`: like `details=true`',
    ),
});
