import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BulkError } from '../../shared/contract/bulk.ts';
import { statusOf } from '../../shared/domain/service-error.ts';
import type { LargeAnswers } from '../http/connections.ts';
import { errorBody, type Fault, faultOf, noteFault, toServiceError, validationFault } from '../http/errors.ts';
import { type Bulk, ndjsonType } from '../http/json-body.ts';
import { asyncApplied, readPrefer } from '../http/operation.ts';
import type { Answer, Answers, StampingRequest } from './request.ts';

/** Answers a request for one stamp: 201, or 202 with the address of the outcome if the client prefers not to wait (N1). */
export async function answerOne<Made, Accepted extends { readonly verify_url: string }>(
  request: FastifyRequest,
  reply: FastifyReply,
  { answers, isReplayed }: Answers<Made, Accepted>,
): Promise<Made | Accepted> {
  const answer = await answers[0]!;
  if (isReplayed) reply.header('Idempotent-Replayed', 'true');
  reply.code('made' in answer ? 201 : 202);
  if ('made' in answer) return answer.made;
  reply.header('Preference-Applied', asyncApplied(readPrefer(request.headers.prefer))).header('Location', answer.accepted.verify_url);
  return answer.accepted;
}

/** Shortens each finished answer with `brief`, for a client that does not ask for details (E15). */
export const inBrief = <Made, Accepted>(
  { answers, isReplayed }: Answers<Made, Accepted>,
  brief: (made: Made) => Made,
): Answers<Made, Accepted> => ({
  answers: answers.map((each) => each.then((answer) => ('made' in answer ? { made: brief(answer.made) } : answer))),
  isReplayed,
});

/** An answer with more items than this counts as large: with tokens of a TSA it has about 1 MiB. */
const mostItemsOfSmallAnswer = 100;

/**
 * Answers a bulk request in the format of the request (L1). The status is 202 if the client does not wait and an item was accepted: then each
 * accepted item has its address. It is 504 if no item was made and some are not finished in time. Otherwise it is 200, even if items failed.
 *
 * @throws ServiceError `overloaded`, and the errors of `stamp`
 */
export async function answerBulk<Order>(
  request: FastifyRequest,
  reply: FastifyReply,
  largeAnswers: LargeAnswers,
  bulk: Bulk<Order>,
  stamp: (entries: StampingRequest<Order>['entries']) => Promise<Answers>,
) {
  const { kind, size, entries } = bulk;
  if (size > mostItemsOfSmallAnswer) largeAnswers.begin(request, reply);
  const stamped = await stamp(entries.map(({ index, item: order }) => ({ index, order })));
  const items = describeAll(request, bulk, stamped.answers);
  if (stamped.isReplayed) reply.header('Idempotent-Replayed', 'true');
  const preferences = readPrefer(request.headers.prefer);
  reply.type(kind === 'ndjson' ? ndjsonType : 'application/json; charset=utf-8');
  const states = await statesOf(items, kind, preferences.respondAsync ? 'accepted' : 'made');
  if (states.includes('accepted')) {
    reply.code(202).header('Preference-Applied', asyncApplied(preferences));
  } else if (states.includes('pending') && !states.includes('made')) {
    reply.code(504).header('Retry-After', '5');
  }
  if (kind === 'ndjson' || size > mostItemsOfSmallAnswer) return reply.send(Readable.from(textOf(items, kind)));
  return reply.send(`[${(await Promise.all(items)).map(({ json }) => json).join()}]`);
}

/** An item of the answer: its JSON, and whether it is finished. */
interface AnsweredItem {
  readonly json: string;
  readonly state: 'made' | 'accepted' | 'pending' | 'failed';
}

/** All items of the answer in their order, for valid and faulty items of the request. */
function describeAll(request: FastifyRequest, bulk: Bulk<unknown>, answers: Answers['answers']): Promise<AnsweredItem>[] {
  const answerAt = new Map(bulk.entries.map(({ index }, place) => [index, answers[place]!]));
  const noted = new Set<string>();
  // A kind of failure is counted once for a request, even if a thousand items fail.
  const note = (fault: Fault) => {
    if (!noted.has(fault.code)) noteFault(request, fault);
    noted.add(fault.code);
  };
  return Array.from({ length: bulk.size }, async (_, index): Promise<AnsweredItem> => {
    const faults = bulk.faulty.get(index);
    if (faults) {
      note(validationFault(faults.map(({ loc, type }) => ({ loc: ['body', ...loc.slice(2)], type }))));
      const described = { index, status: 422, code: 'validation_failed', detail: faults, request_id: request.id };
      return { json: JSON.stringify(described), state: 'failed' };
    }
    try {
      return describe(await answerAt.get(index)!);
    } catch (cause) {
      const error = toServiceError(cause);
      note(faultOf(error));
      const { code, retryAfterSeconds: wait } = error;
      const retry = wait !== undefined && { retry_after_seconds: Math.ceil(wait) };
      const described: BulkError = { index, status: statusOf[code], ...errorBody(error, request.id), ...retry };
      return { json: JSON.stringify(described), state: code === 'stamp_pending' ? 'pending' : 'failed' };
    }
  });
}

const describe = (answer: Answer): AnsweredItem =>
  'made' in answer ? { json: jsonOf(answer.made), state: 'made' } : { json: JSON.stringify(answer.accepted), state: 'accepted' };

/**
 * The JSON of a result. A token in base64 needs no escapes, so it is inserted unchanged: `JSON.stringify` would check each of its thousands of
 * characters.
 */
function jsonOf(made: object): string {
  const { token } = made as { readonly token?: string };
  if (!token || token.includes('"') || token.includes('\\')) return JSON.stringify(made);
  return JSON.stringify({ ...made, token: '' }).replace('"token":""', () => `"token":"${token}"`);
}

/**
 * The states that decide the status. In an answer of lines, the first decisive item decides it. If there is none, the status is known only when all
 * items have an outcome.
 */
async function statesOf(
  items: readonly Promise<AnsweredItem>[],
  kind: Bulk<unknown>['kind'],
  decisive: AnsweredItem['state'],
): Promise<readonly AnsweredItem['state'][]> {
  const all = items.map((item) => item.then(({ state }) => state));
  if (kind === 'json') return Promise.all(all);
  const first = all.map((item) => item.then((state) => (state === decisive ? state : Promise.reject(state))));
  return Promise.any(first).then(
    (state) => [state],
    () => Promise.all(all),
  );
}

const delimiters = { ndjson: { open: '', between: '\n', close: '\n' }, json: { open: '[', between: ',', close: ']' } } as const;

/**
 * The text of the items in order, each as soon as possible. Items that are ready at the same time are sent together, about 64 KiB at a time.
 */
async function* textOf(items: readonly Promise<AnsweredItem>[], kind: Bulk<unknown>['kind']): AsyncGenerator<string> {
  const { open, between, close } = delimiters[kind];
  const settled: string[] = [];
  for (const [index, item] of items.entries()) item.then(({ json }) => (settled[index] = json));
  for (let next = 0; next < items.length; ) {
    await items[next];
    let text = '';
    for (; next < items.length && settled[next] !== undefined && text.length < 65_536; next += 1) {
      text += (next === 0 ? open : between) + settled[next];
    }
    yield next === items.length ? text + close : text;
  }
}
