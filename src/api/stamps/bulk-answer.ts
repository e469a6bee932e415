import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BulkError } from '../../shared/contract/bulk.ts';
import type { ServiceError } from '../../shared/domain/service-error.ts';
import type { LargeAnswers } from '../http/connections.ts';
import { errorBody, faultOf, noteFault, statusOf, toServiceError, validationFault } from '../http/errors.ts';
import { type Bulk, ndjsonType } from '../http/json-body.ts';
import { asyncApplied, readPrefer } from '../http/operation.ts';
import type { ValidationItem } from '../http/validation.ts';
import type { Answer, Answers } from './request.ts';

/** An answer with more items than this counts as large: with tokens of a TSA it has about 1 MiB. */
const mostItemsOfSmallAnswer = 100;

/** Counts the answer to a bulk request if it is large. @throws ServiceError `overloaded` */
export function beginAnswer(request: FastifyRequest, reply: FastifyReply, largeAnswers: LargeAnswers, items: number): void {
  if (items > mostItemsOfSmallAnswer) largeAnswers.begin(request, reply);
}

/** An answered item: its JSON, and whether it is finished. */
interface Answered {
  readonly json: string;
  readonly state: 'made' | 'accepted' | 'pending' | 'failed';
}

/**
 * The JSON of a result. A token in base64 needs no escapes, so it is inserted unchanged: `JSON.stringify` would check each of its thousands of
 * characters.
 */
function jsonOf(made: object): string {
  const { token } = made as { readonly token?: string };
  if (!token || token.includes('"') || token.includes('\\')) return JSON.stringify(made);
  return JSON.stringify({ ...made, token: '' }).replace('"token":""', () => `"token":"${token}"`);
}

const describe = (told: Answer): Answered =>
  'made' in told ? { json: jsonOf(told.made), state: 'made' } : { json: JSON.stringify(told.accepted), state: 'accepted' };

function describeError(index: number, error: ServiceError, request: FastifyRequest): Answered {
  const { retryAfterSeconds: wait } = error;
  const described: BulkError = {
    index,
    status: statusOf[error.code],
    ...errorBody(error, request.id),
    ...(wait !== undefined && { retry_after_seconds: Math.ceil(wait) }),
  };
  return { json: JSON.stringify(described), state: error.code === 'stamp_pending' ? 'pending' : 'failed' };
}

const describeFaulty = (index: number, detail: readonly ValidationItem[], request: FastifyRequest): Answered => ({
  json: JSON.stringify({ index, status: 422, code: 'validation_failed', detail, request_id: request.id }),
  state: 'failed',
});

/** Notes each kind of failure only once for a request, so that it is counted once, even if a thousand items fail. */
function createNotes(request: FastifyRequest) {
  const noted = new Set<string>();
  const noteOnce = (code: string, note: () => void) => {
    if (!noted.has(code)) note();
    noted.add(code);
  };
  return {
    error: (error: ServiceError) => noteOnce(error.code, () => noteFault(request, faultOf(error))),
    faulty: (items: readonly ValidationItem[]) =>
      noteOnce('validation_failed', () =>
        noteFault(request, validationFault(items.map(({ loc, type }) => ({ loc: ['body', ...loc.slice(2)], type })))),
      ),
  };
}

/** The answers to all items of a request in their order, for valid and faulty items. */
function answersOf(request: FastifyRequest, bulk: Bulk<unknown>, told: readonly Promise<Answer>[]): Promise<Answered>[] {
  const notes = createNotes(request);
  const answers = new Map<number, Promise<Answered>>();
  for (const [index, faults] of bulk.faulty) {
    notes.faulty(faults);
    answers.set(index, Promise.resolve(describeFaulty(index, faults, request)));
  }
  for (const [place, { index }] of bulk.entries.entries()) {
    const refuse = (cause: unknown): Answered => {
      const error = toServiceError(cause);
      notes.error(error);
      return describeError(index, error, request);
    };
    answers.set(index, told[place]!.then(describe, refuse));
  }
  return Array.from({ length: bulk.size }, (_, index) => answers.get(index)!);
}

const delimiters = { ndjson: { open: '', between: '\n', close: '\n' }, json: { open: '[', between: ',', close: ']' } } as const;

/**
 * The text of the answered items in order, each as soon as possible. Items that are ready at the same time are sent together, about 64 KiB at a time.
 */
async function* textOf(answers: readonly Promise<Answered>[], kind: Bulk<unknown>['kind']): AsyncGenerator<string> {
  const { open, between, close } = delimiters[kind];
  const settled: string[] = [];
  for (const [index, answer] of answers.entries()) answer.then(({ json }) => (settled[index] = json));
  for (let next = 0; next < answers.length; ) {
    await answers[next];
    let text = '';
    for (; next < answers.length && settled[next] !== undefined && text.length < 65_536; next += 1) {
      text += (next === 0 ? open : between) + settled[next];
    }
    yield next === answers.length ? text + close : text;
  }
}

/**
 * Answers a bulk request in the format of the request (L1). The status is 202 if the client does not wait and an item was accepted: then each
 * accepted item has its address. It is 504 if no item was made and some are not finished in time. Otherwise it is 200, even if items failed.
 */
export async function sendBulk(request: FastifyRequest, reply: FastifyReply, bulk: Bulk<unknown>, { answers: told, isReplayed }: Answers) {
  const answers = answersOf(request, bulk, told);
  if (isReplayed) reply.header('Idempotent-Replayed', 'true');
  const statusFor = (states: readonly Answered['state'][]) => {
    if (states.includes('accepted')) {
      reply.header('Preference-Applied', asyncApplied(readPrefer(request.headers.prefer)));
      return 202;
    }
    const isUnfinished = states.includes('pending') && !states.includes('made');
    if (isUnfinished) reply.header('Retry-After', '5');
    return isUnfinished ? 504 : 200;
  };
  if (bulk.kind === 'ndjson') {
    // The first item that is made (or accepted, if the client does not wait) decides the status. If there is none, the status is known only when all
    // items have an outcome.
    const decisive = readPrefer(request.headers.prefer).respondAsync ? 'accepted' : 'made';
    const first = answers.map((answer) => answer.then(({ state }) => (state === decisive ? state : Promise.reject(state))));
    const status = await Promise.any(first).then(
      (state) => statusFor([state]),
      (failure: AggregateError) => statusFor(failure.errors),
    );
    return reply
      .code(status)
      .type(ndjsonType)
      .send(Readable.from(textOf(answers, bulk.kind)));
  }
  const all = await Promise.all(answers);
  reply.code(statusFor(all.map(({ state }) => state))).type('application/json; charset=utf-8');
  if (bulk.size > mostItemsOfSmallAnswer) return reply.send(Readable.from(textOf(answers, bulk.kind)));
  return reply.send(`[${all.map(({ json }) => json).join()}]`);
}
