import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { buildEdgesApp } from '../support/edges-app.ts';

/** Requests, and the whole answers that FastAPI 0.142 with pydantic 2.13 gave to them for models of this interface, but for W17: hashes of a workflow in upper case are no error. */
interface Answered {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly raw: string;
  readonly status: number;
  readonly detail?: unknown;
}
const answers: readonly Answered[] = JSON.parse(readFileSync(new URL('../fixtures/fastapi-answers.json', import.meta.url), 'utf8'));
const app = await buildEdgesApp();

test.each(answers)('E1: $path $raw', async ({ path, headers, raw, status, detail }) => {
  const answer = await app.inject({ method: 'POST', url: path, headers, payload: raw });
  expect(answer.statusCode).toBe(status);
  if (detail !== undefined) expect(answer.json()).toEqual({ detail });
});
