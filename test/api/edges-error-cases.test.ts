import { expect, test } from 'vitest';
import { buildEdgesApp } from '../support/edges-app.ts';
import { errorCases, expectedOf, nameOf, replay, type Send } from '../support/error-cases.ts';

const app = await buildEdgesApp();

const send: Send = async ({ method, path, headers, payload }) => {
  const answer = await app.inject({ method: method as 'GET', url: path, headers, ...(payload !== undefined && { payload }) });
  return { status: answer.statusCode, body: answer.json() };
};

test.each(errorCases.map((errorCase) => ({ name: nameOf(errorCase), errorCase })))('E1, E2: $name', async ({ errorCase }) => {
  expect(await replay(errorCase, send)).toEqual(expectedOf(errorCase, expect.any(String)));
});
