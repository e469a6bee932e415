import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { validationItems } from '../../../src/api/server/validation-items.ts';
import { stampContentArguments, stampHashArguments, verifyTokenArguments } from '../../../src/shared/contract/mcp.ts';
import { decodeCanonicalBase64, type StampRules, stampRequestFor } from '../../../src/shared/contract/stamp.ts';
import { workflowStampRequest, workflowStartRequest } from '../../../src/shared/contract/workflow.ts';
import { sha256Imprint } from '../../../src/shared/domain/stamp.ts';

const hash = 'a'.repeat(64);
const start = { user_email: 'a@example.com', agent_id: 'x', briefing_hash: hash };
const output = { output_hash: hash, output_type: 'image' };

function faults(schema: z.ZodType, body: unknown) {
  const result = schema.safeParse(body);
  return result.success
    ? []
    : validationItems(result.error, body, ['body']).map(({ type, loc, msg }) => ({ type, loc: loc.join('.'), msg }));
}

const stampFaults = (body: unknown, rules: StampRules = {}) => faults(stampRequestFor(rules), body);
const order = (body: unknown, rules: StampRules = {}) => stampRequestFor(rules).parse(body);
const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');

test.each([
  ['😀'.repeat(64), 'string_pattern_mismatch'],
  [`${'a'.repeat(63)}\ud800`, 'string_unicode'],
])('E1: a hash %j is %s; its length is checked first, in code points', (given, type) => {
  expect(stampFaults({ hash: given }).map((item) => item.type)).toEqual([type]);
});

test('S6: unknown members are ignored, null counts as absent', () => {
  expect(order({ hash, content_b64: null, metadata: null, other: { deep: 1 } })).toEqual({
    imprint: sha256Imprint(hash),
    content: undefined,
    tier: 'basic',
    metadata: undefined,
  });
});

test.each([
  ['A'.repeat(64), 'string_pattern_mismatch', / Write the digits a to f in lower case\.$/],
  [` ${'a'.repeat(64)}\n`, 'string_too_long', / Send it without spaces around it\.$/],
  [`0x${'a'.repeat(64)}`, 'string_too_long', / Leave out the 0x at the beginning\.$/],
  [`SHA256:${'a'.repeat(64)}`, 'string_too_long', / without the name of the algorithm\.$/],
  [`${'a'.repeat(64)}  report.pdf`, 'string_too_long', / without the file name\.$/],
  [`${'A'.repeat(43)}=`, 'string_too_short', / This looks like base64/],
  ['a'.repeat(128), 'string_too_long', / This looks like a SHA-512: send a SHA-256\.$/],
  ['a'.repeat(32), 'string_too_short', / This looks like an MD5/],
])('E16: a typical mistake in a hash, %j, gets advice; type and place stay', (given, type, said) => {
  expect(stampFaults({ hash: given })).toEqual([expect.objectContaining({ type, loc: 'body.hash', msg: expect.stringMatching(said) })]);
});

test('S1, S2: sealed content is decoded once, and its hash is computed', () => {
  const content = Buffer.from('the content');
  expect(order({ content_b64: content.toString('base64'), tier: 'sealed' })).toMatchObject({
    content,
    imprint: sha256Imprint(sha256(content)),
  });
  expect(order({ content_b64: '', tier: 'sealed' })).toMatchObject({ content: Buffer.alloc(0), imprint: sha256Imprint(sha256('')) });
  expect(stampFaults({ content_b64: content.toString('base64'), hash: sha256(content), tier: 'sealed' })).toEqual([]);
});

test('S1: the rule that the hash is that of the content spans several fields', () => {
  expect(stampFaults({ content_b64: 'YWJj', hash, tier: 'sealed' })).toEqual([
    { type: 'value_error', loc: 'body', msg: 'Value error, hash is not the SHA-256 of content_b64' },
  ]);
});

test.each(['YQ', 'YQ=', 'YR==', '-_-_', 'YWJj=', '====', '=', 'é', 'YQ==YQ==', 'YWJj\u00a0', 'YWJj\u0141', 'YQ==\nYQ==', 'Y Q', 'YW\\nJj'])(
  'S2: %j is not canonical base64',
  (encoded) => {
    expect(stampFaults({ content_b64: encoded, tier: 'sealed' })).toMatchObject([{ type: 'value_error', loc: 'body.content_b64' }]);
  },
);

test.each(['YWJj\n', 'YW Jj', ' Y W\tJ\r\nj ', 'YWJj'.padStart(900)])('S2: white space in base64 is ignored: %j', (encoded) => {
  expect(order({ content_b64: encoded, tier: 'sealed' }, { sealedMaxBytes: 3 }).content).toEqual(Buffer.from('abc'));
  const tooLarge = () => order({ content_b64: encoded, tier: 'sealed' }, { sealedMaxBytes: 2 });
  expect(tooLarge).toThrow(expect.objectContaining({ code: 'payload_too_large' }));
});

test('S2: base64 of megabytes with line breaks, or with a space after each character, is read; its last fault is found', () => {
  const content = Buffer.alloc(6 * 1024 * 1024 + 1, 'ab\u00ff');
  const encoded = content.toString('base64');
  for (const spaced of [encoded.replace(/.{76}/g, '$&\n'), [...encoded].join(' ')]) {
    expect(decodeCanonicalBase64(spaced)?.equals(content)).toBe(true);
    expect(decodeCanonicalBase64(`${spaced}\n-`)).toBeUndefined();
  }
  expect(decodeCanonicalBase64(`${encoded.slice(0, -3)}x==`)).toBeUndefined();
});

test.each([
  [4, 'YWJj', false],
  [3, 'YWJj', false],
  [2, 'YWJj', true],
  [2, 'YWI=', false],
  [1, 'YWI=', true],
  [0, '', false],
  [0, 'YQ==', true],
])('S3: with at most %i bytes, %j is too large: %s', (sealedMaxBytes, encoded, isTooLarge) => {
  const parse = () => order({ content_b64: encoded }, { tier: 'sealed', sealedMaxBytes });
  if (isTooLarge) expect(parse).toThrow(expect.objectContaining({ code: 'payload_too_large' }));
  else expect(parse).not.toThrow();
});

test('S5: the tier in the path applies, also for the rule about content', () => {
  expect(order({ hash, tier: 'basic' }, { tier: 'plus' }).tier).toBe('plus');
  expect(stampFaults({ content_b64: 'YWJj' }, { tier: 'sealed' })).toEqual([]);
  expect(stampFaults({ content_b64: 'YWJj', tier: 'sealed' }, { tier: 'basic' })).toEqual([
    { type: 'value_error', loc: 'body', msg: 'Value error, content_b64 is only allowed in tier sealed' },
  ]);
  expect(stampFaults({ hash, tier: 'gold' }, { tier: 'plus' })).toMatchObject([{ type: 'enum', loc: 'body.tier' }]);
});

const ofBytes = (bytes: number) => ({ k: 'x'.repeat(bytes - '{"k":""}'.length) });

test.each([
  ['stamp', 'body.metadata', (metadata: unknown) => stampFaults({ hash, metadata })],
  ['briefing', 'body.briefing_metadata', (metadata: unknown) => faults(workflowStartRequest, { ...start, briefing_metadata: metadata })],
  ['output', 'body.output_metadata', (metadata: unknown) => faults(workflowStampRequest, { ...output, output_metadata: metadata })],
])('S4, W15: %s metadata may be 4096 bytes of UTF-8 JSON', (_name, loc, check) => {
  expect(check(ofBytes(4096))).toEqual([]);
  expect(check(ofBytes(4097))).toMatchObject([{ type: 'value_error', loc }]);
  expect(check({ k: 'é'.repeat(2044) })).toEqual([]);
  expect(check({ k: 'é'.repeat(2045) })).toMatchObject([{ type: 'value_error', loc }]);
});

test('metadata has no special names: __proto__ and constructor are ordinary members', () => {
  const metadata: unknown = JSON.parse('{"__proto__":"p","constructor":"c"}');
  const parsed = order({ hash, metadata }).metadata;
  expect(Object.entries(parsed ?? {})).toEqual([
    ['__proto__', 'p'],
    ['constructor', 'c'],
  ]);
  expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
});

test.each([
  ['😀'.repeat(101), 'string_too_long'],
  ['x\n', 'value_error'],
  ['x\ny', 'value_error'],
  ['x\ty', 'value_error'],
  ['x\u0000', 'value_error'],
  ['\r', 'value_error'],
  ['\u007f', 'value_error'],
  ['x\u0085', 'value_error'],
  ['x\u2028y', 'value_error'],
  ['\u2029', 'value_error'],
  ['\ud800', 'string_unicode'],
])('W3: the output type %j is %s', (given, type) => {
  expect(faults(workflowStampRequest, { ...output, output_type: given })).toMatchObject([{ type, loc: 'body.output_type' }]);
});

test.each(['image', '3d-model', 'text/plain', 'Image', ' Entwurf, 3. Fassung (Ä) ', '図面', '👩‍🎨', '<b>"\'&', '😀'.repeat(100)])(
  'W3: %s is an output type',
  (output_type) => {
    expect(faults(workflowStampRequest, { ...output, output_type })).toEqual([]);
  },
);

test('M3, M4: errors in tool arguments name the fault', () => {
  expect(faults(stampContentArguments, {})).toMatchObject([{ type: 'missing', loc: 'body.content_b64' }]);
  expect(faults(stampHashArguments, { sha256_hex: 'abc', tier: 'gold' })).toMatchObject([
    { type: 'string_too_short', loc: 'body.sha256_hex' },
    { type: 'enum', loc: 'body.tier' },
  ]);
  expect(faults(verifyTokenArguments, { token: 't' })).toEqual([]);
  for (const given of [{}, { token: 't', token_id: '0190d9f0-0000-7000-8000-000000000000' }, { token: null }]) {
    expect(faults(verifyTokenArguments, given)).toMatchObject([{ type: 'value_error', loc: 'body' }]);
  }
  expect(faults(verifyTokenArguments, { token_id: 'x' })).toMatchObject([{ type: 'uuid_parsing', loc: 'body.token_id' }]);
});

test('M2: the JSON Schema of tool arguments lists the required ones', () => {
  for (const schema of [stampHashArguments, stampContentArguments, verifyTokenArguments]) {
    expect(z.toJSONSchema(schema, { io: 'input' })).toMatchObject({ type: 'object' });
  }
  expect(z.toJSONSchema(stampHashArguments, { io: 'input' })).toMatchObject({
    required: ['sha256_hex'],
    properties: { sha256_hex: { type: 'string', pattern: '^[0-9a-fA-F]{64}$' }, tier: { enum: ['basic', 'plus', 'sealed'] } },
  });
});

test('the input in a 422 answer stays small, whatever was sent', () => {
  const body = { agent_id: 'x'.repeat(5_000_000), list: Array(1_000_000).fill(0), user_email: null };
  const result = workflowStartRequest.safeParse(body);
  expect(JSON.stringify(validationItems(result.error ?? new z.ZodError([]), body, ['body'])).length).toBeLessThan(10_000);
  const metadata = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, 0]));
  const many = stampRequestFor().safeParse({ hash, metadata });
  expect(validationItems(many.error ?? new z.ZodError([]), { hash, metadata }, ['body'])).toEqual([
    expect.objectContaining({ type: 'value_error', loc: ['body', 'metadata'] }),
  ]);
});
