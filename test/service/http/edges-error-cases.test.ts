import { expect, test } from 'vitest';
import { errorCases, expectedOf, nameOf, replay, type Send } from '../../support/error-cases.ts';
import { buildMemoryApp } from '../../support/memory-app.ts';
import { internalHeaders } from '../../support/requests.ts';

const app = await buildMemoryApp();

const send: Send = async ({ method, path, headers, payload }) => {
  const answer = await app.inject({ method: method as 'GET', url: path, headers, ...(payload !== undefined && { payload }) });
  return { status: answer.statusCode, body: answer.json() };
};

test.each(errorCases.map((errorCase) => ({ name: nameOf(errorCase), errorCase })))('E1, E2: $name', async ({ errorCase }) => {
  expect(await replay(errorCase, send, internalHeaders)).toEqual(expectedOf(errorCase, expect.any(String)));
});
