import { readFileSync } from 'node:fs';

/** A request and the answer of the FastAPI server with this interface; `msg` `*` is any text. */
export interface ErrorCase {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly raw_body?: string;
  readonly content_type?: string;
  readonly status: number;
  readonly detail?: readonly ErrorItem[];
}

export interface ErrorItem {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
}

/** Sends a request and returns the answer: over a socket or into an app. */
export type Send = (request: {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: string | undefined;
}) => Promise<{ readonly status: number; readonly body: unknown }>;

export const errorCases: readonly ErrorCase[] = JSON.parse(readFileSync(new URL('../fixtures/error-cases.json', import.meta.url), 'utf8'));

export const nameOf = ({ method, path, body, raw_body }: ErrorCase): string =>
  `${method} ${path} ${raw_body ?? JSON.stringify(body) ?? ''}`.trim().slice(0, 120);

/** Sends the request of a case; returns the answer in the shape of the case, for comparison with `expectedOf`. */
export async function replay({ method, path, body, raw_body, content_type }: ErrorCase, send: Send, headers: Record<string, string> = {}) {
  const payload = raw_body ?? (body === undefined ? undefined : JSON.stringify(body));
  const type = content_type ?? (body === undefined ? undefined : 'application/json');
  const answer = await send({ method, path, headers: { ...headers, ...(type && { 'content-type': type }) }, payload });
  const detail = answer.status === 422 ? itemsOf(answer.body) : undefined;
  return { status: answer.status, ...(detail && { detail }) };
}

/** Every member of an item that a case names; `input` and `ctx` are for other tests. */
function itemsOf(body: unknown): ErrorItem[] {
  const { detail } = body as { detail: ErrorItem[] };
  return detail.map(({ type, loc, msg }) => ({ type, loc, msg }));
}

/** The value for vitest's `toEqual` in a case. */
export function expectedOf({ status, detail }: ErrorCase, anyText: unknown): unknown {
  return { status, ...(detail && { detail: detail.map(({ type, loc, msg }) => ({ type, loc, msg: msg === '*' ? anyText : msg })) }) };
}
