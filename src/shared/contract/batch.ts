import { z } from 'zod';
import { validationError } from './error.ts';
import { issueOf, uuid } from './fields.ts';
import { acceptedStamp, stampFields, stampToken } from './stamp.ts';
import { acceptedOutput, workflowStampRequest, workflowStampResponse } from './workflow.ts';

/** The most items of one batch (L1). */
export const mostBatchItems = 1_000;

/** A list of so many items, in pydantic's words; each item is judged by itself later. */
export const batchList = z.unknown().transform((given, context): readonly unknown[] => {
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
  if (length > mostBatchItems) {
    const ctx = { max_length: mostBatchItems, actual_length: length };
    return refuse('too_long', `List should have at most ${mostBatchItems} items after validation, not ${length}`, ctx);
  }
  return given;
});

/** As documented: the list itself is judged by `batchList`, each item by the contract of one. */
const batchOf = (item: z.ZodType) => z.array(item).min(1).max(mostBatchItems);
export const stampBatchBody = batchOf(stampFields);
export const outputBatchBody = batchOf(workflowStampRequest);

/** Why an item was not made: what a request with this item alone would have been told, its status too (L1). */
const batchError = z
  .looseObject({
    index: z.int().min(0).describe('the place of the item in the request, from 0'),
    status: z.int().describe('of a request with this item alone'),
    code: z.string().describe('a stable snake_case word for programs; `validation_failed` where the item breaks its contract'),
    detail: z.union([z.string(), z.array(validationError)]),
    request_id: z.string(),
    retry_after_seconds: z.int().optional(),
    token_id: uuid.optional().describe('of `stamp_pending`: accepted, and not finished in time'),
    verify_url: z.string().optional().describe('where the outcome is told later'),
  })
  .meta({ id: 'BatchError' });
export type BatchError = z.output<typeof batchError>;

export const stampBatchAnswer = z.array(z.union([stampToken, batchError]));
export const outputBatchAnswer = z.array(z.union([workflowStampResponse, batchError]));
/** 202 (N1): what an earlier request has made already is given as it is. */
export const acceptedStampsAnswer = z.array(z.union([acceptedStamp, stampToken, batchError]));
export const acceptedOutputsAnswer = z.array(z.union([acceptedOutput, workflowStampResponse, batchError]));
