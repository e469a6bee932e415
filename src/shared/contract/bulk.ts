import { z } from 'zod';
import { validationError } from './error.ts';
import { issueOf, uuid } from './fields.ts';
import { acceptedStamp, stampFields, stampToken } from './stamp.ts';
import { acceptedOutput, workflowStampRequest, workflowStampResponse } from './workflow.ts';

/** The maximum number of items in one bulk request (L1). */
export const mostBulkItems = 1_000;

/** Accepts a list of 1 to `mostBulkItems` items, with the error messages of pydantic. Each item is checked later, separately. */
export const bulkList = z.unknown().transform((given, context): readonly unknown[] => {
  const refuse = (type: string, msg: string, ctx?: object) => {
    context.addIssue(issueOf({ type, msg, ...(ctx && { ctx: { field_type: 'List', ...ctx } }) }));
    return z.NEVER;
  };
  if (!Array.isArray(given)) return refuse('list_type', 'Input should be a valid list');
  const { length } = given;
  if (length === 0) {
    const ctx = { min_length: 1, actual_length: 0 };
    return refuse('too_short', 'List should have at least 1 item after validation, not 0', ctx);
  }
  if (length > mostBulkItems) {
    const ctx = { max_length: mostBulkItems, actual_length: length };
    return refuse('too_long', `List should have at most ${mostBulkItems} items after validation, not ${length}`, ctx);
  }
  return given;
});

/** Describes a list in the OpenAPI document. It checks no requests: `bulkList` checks the list, and the contract of one item checks each item. */
const listOf = (item: z.ZodType) => z.array(item).min(1).max(mostBulkItems);
export const stampBulkBody = listOf(stampFields);
export const outputBulkBody = listOf(workflowStampRequest);

/** The error of one item: the same error and status that a request with this item alone would get. */
const bulkError = z
  .looseObject({
    index: z.int().min(0).describe('position of the item in the request, from 0'),
    status: z.int().describe('the status that a request with this item alone would get'),
    code: z.string().describe('a stable snake_case word for programs; `validation_failed` if the item breaks its contract'),
    detail: z.union([z.string(), z.array(validationError)]),
    request_id: z.string(),
    retry_after_seconds: z.int().optional(),
    token_id: uuid.optional().describe('with `stamp_pending`: accepted, but not finished in time'),
    verify_url: z.string().optional().describe('shows the outcome later'),
  })
  .meta({ id: 'BatchError' });
export type BulkError = z.output<typeof bulkError>;

export const stampBulkAnswer = z.array(z.union([stampToken, bulkError]));
export const outputBulkAnswer = z.array(z.union([workflowStampResponse, bulkError]));
/** The body of a 202 (N1). If an earlier request has already made a stamp, the list has this finished stamp. */
export const acceptedStampsAnswer = z.array(z.union([acceptedStamp, stampToken, bulkError]));
/** The body of a 202. If an earlier request has already made an output, the list has this finished output. */
export const acceptedOutputsAnswer = z.array(z.union([acceptedOutput, workflowStampResponse, bulkError]));
