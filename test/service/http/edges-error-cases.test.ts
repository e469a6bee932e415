import { expect, test } from 'vitest';
import { errorCases, expectedOf, nameOf, replay, type Send } from '../../support/error-cases.ts';
import { sendExactly } from '../../support/raw-http.ts';
import { internalHeaders } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const service = await sharedService();

const send: Send = async ({ method, path, headers, payload }) => {
  const { status, text } = await sendExactly(service, method, path, { headers, payload });
  return { status, body: JSON.parse(text) };
};

test.each(errorCases.map((errorCase) => ({ name: nameOf(errorCase), errorCase })))('E1, E2: $name', async ({ errorCase }) => {
  expect(await replay(errorCase, send, internalHeaders)).toEqual(expectedOf(errorCase, expect.any(String)));
});
