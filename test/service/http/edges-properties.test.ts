import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tries } from '../../support/depth.ts';
import { sendExactly } from '../../support/raw-http.ts';
import { internalHeaders } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const service = await sharedService();
const id = '0190d9f0-0000-7000-8000-000000000000';

const members = fc.constantFrom(
  ...['hash', 'content_b64', 'tier', 'metadata', 'token', 'user_email', 'agent_id', 'briefing_hash', 'briefing_metadata'],
  ...['output_hash', 'output_type', 'output_metadata', '__proto__', 'constructor', 'toString', ''],
);
const values = fc.oneof(
  fc.constantFrom('a'.repeat(64), 'YWJj', 'basic', 'sealed', 'standard', 'image', 'a@example.com', null),
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: 'binary' }),
);
const bodies = fc.oneof(
  fc.dictionary(members, values).map((body) => JSON.stringify(body)),
  fc.json(),
  fc.string({ unit: 'binary' }),
  fc.uint8Array({ maxLength: 200 }).map((octets) => Buffer.from(octets)),
);
const paths = fc.constantFrom(
  ...['basic', 'plus', 'sealed'].map((tier) => `/api/v1/agent/v1/stamp/${tier}`),
  ...['/api/v1/internal/v1/stamp', '/api/v1/internal/v1/verify', '/api/v1/verify/v1/raw', '/api/v1/workflow/start'],
  ...[`/api/v1/workflow/${id}/stamp`, `/api/v1/workflow/${id}/complete`],
);
const callers = fc.constantFrom({}, internalHeaders);
const types = fc.constantFrom('application/json', 'application/x+json; charset=utf-8', undefined);

test('random bodies, with and without a token, are accepted or refused in the usual shape, and never a 5xx', async () => {
  await fc.assert(
    fc.asyncProperty(paths, bodies, types, callers, async (url, payload, type, caller) => {
      const answer = await sendExactly(service, 'POST', url, { payload, headers: { ...caller, ...(type && { 'content-type': type }) } });
      expect([200, 201, 401, 413, 422]).toContain(answer.status);
      if (answer.status !== 422) return;
      const { detail, ...others } = JSON.parse(answer.text);
      expect(others).toEqual({});
      expect(detail.length).toBeGreaterThan(0);
      for (const item of detail) {
        expect(item).toEqual({
          type: expect.stringMatching(/^[a-z_]+$/),
          loc: expect.arrayContaining(['body']),
          msg: expect.any(String),
          input: item.input,
          ...('ctx' in item && { ctx: expect.any(Object) }),
        });
      }
    }),
    { numRuns: tries(1000, 250) },
  );
});

test('random addresses and queries: never a 5xx', async () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }).map(percentEncode),
    fc.string({ unit: fc.constantFrom('%', '2', 'f', '/', '0', '+', '.') }),
  );
  await fc.assert(
    fc.asyncProperty(texts, texts, async (segment, value) => {
      for (const url of [
        `/api/v1/verify/v1/token/${segment}`,
        `/api/v1/internal/v1/stamps?limit=${value}&offset=${segment}`,
        `/${segment}`,
      ]) {
        const answer = await sendExactly(service, 'GET', url, { headers: internalHeaders });
        expect([200, 307, 400, 404, 422]).toContain(answer.status);
      }
    }),
    { numRuns: tries(1000, 250) },
  );
});

const percentEncode = (text: string): string => [...Buffer.from(text)].map((octet) => `%${octet.toString(16).padStart(2, '0')}`).join('');
