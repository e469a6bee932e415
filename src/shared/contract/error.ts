import { z } from 'zod';

/** One item of `detail` in a 422 answer (E1). */
export const validationError = z
  .object({
    loc: z.array(z.union([z.string(), z.int()])),
    msg: z.string(),
    type: z.string(),
    input: z.unknown().optional().describe('the value that was sent; long texts are clipped'),
    ctx: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'ValidationError' });

export const httpValidationError = z.object({ detail: z.array(validationError) }).meta({ id: 'HTTPValidationError' });

/** The body of every error except 422 (E3). Some codes add members, such as `token_id` and `verify_url` of a pending stamp. */
export const errorResponse = z
  .looseObject({
    detail: z.string().describe('one sentence for people'),
    code: z.string().describe('a stable snake_case word for programs'),
    request_id: z.string().describe('identifies the request in the logs of the service'),
  })
  .meta({ id: 'Error' });
export type ErrorResponse = z.output<typeof errorResponse>;
