import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { validationItems } from '../../../src/api/http/validation.ts';
import { stampHashArguments, verifyTokenArguments } from '../../../src/shared/contract/mcp.ts';
import { decodeCanonicalBase64, type StampRules, stampRequestFor } from '../../../src/shared/contract/stamp.ts';
import { rawVerifyRequest } from '../../../src/shared/contract/verify.ts';
import { workflowStampRequest, workflowStartRequest } from '../../../src/shared/contract/workflow.ts';
import { sha256Imprint } from '../../../src/shared/domain/stamp.ts';

const hash = 'a'.repeat(64);

/** The faults of a body, each as its type, its place and its sentence. */
function faults(schema: z.ZodType, body: unknown) {
  const items = validationItems(schema.safeParse(body).error ?? new z.ZodError([]), body, ['body']);
  return items.map(({ type, loc, msg }) => [type, loc.join('.'), msg]);
}
const order = (body: unknown, rules: StampRules = {}) => stampRequestFor(rules).parse(body);
const sha256Of = (content: string) => sha256Imprint(createHash('sha256').update(content).digest('hex'));

test.each([
  ['😀'.repeat(64), 'string_pattern_mismatch', /./],
  [`${'a'.repeat(63)}\ud800`, 'string_unicode', /./],
  ['A'.repeat(64), 'string_pattern_mismatch', / Write the digits a to f in lower case\.$/],
  [` ${hash}\n`, 'string_too_long', / Send it without spaces around it\.$/],
  [`0x${hash}`, 'string_too_long', / Leave out the 0x at the beginning\.$/],
  [`SHA256:${hash}`, 'string_too_long', / without the name of the algorithm\.$/],
  [`${hash}  report.pdf`, 'string_too_long', / without the file name\.$/],
  [`${'A'.repeat(43)}=`, 'string_too_short', / This looks like base64/],
  [`-_${'A'.repeat(41)}`, 'string_too_short', / This looks like base64/],
  ['a'.repeat(128), 'string_too_long', / This looks like a SHA-512: send a SHA-256\.$/],
  ['a'.repeat(32), 'string_too_short', / This looks like an MD5/],
])('E1, E16: the hash %j is %s, in code points, with advice for a typical mistake', (given, type, said) => {
  expect(faults(stampRequestFor(), { hash: given })).toEqual([[type, 'body.hash', expect.stringMatching(said)]]);
});

const sha512 = 'A'.repeat(128);
test.each([
  [`0x${sha512}`, 'string_too_long', / Leave out the 0x at the beginning\.$/],
  [`sha512:${hash}`, 'string_pattern_mismatch', / without the name of the algorithm\.$/],
  [`${sha512}  report.pdf`, 'string_too_long', / without the file name\.$/],
  ['a'.repeat(40), 'string_too_short', / This looks like a SHA-1: send a SHA-256, SHA-384 or SHA-512\.$/],
])('E16: where hashes of several algorithms are allowed, %j gets advice too', (given, type, said) => {
  const found = faults(rawVerifyRequest, { token: 'x', hash: given, hashes: [sha512, given] });
  expect(found).toEqual(['body.hash', 'body.hashes.1'].map((loc) => [type, loc, expect.stringMatching(said)]));
});

test('S1, S5, S6: valid orders: null counts as absent, content is decoded, and the tier of the path applies', () => {
  const plain = { imprint: sha256Imprint(hash), content: undefined, tier: 'basic', metadata: undefined };
  expect(order({ hash, content_b64: null, metadata: null, other: { deep: 1 } })).toEqual(plain);
  expect(order({ hash, tier: 'basic' }, { tier: 'plus' }).tier).toBe('plus');
  const sealed = { content: Buffer.from('abc'), imprint: sha256Of('abc') };
  expect(order({ content_b64: 'YWJj' }, { tier: 'sealed' })).toMatchObject(sealed);
  expect(order({ content_b64: 'YWJj', hash: sealed.imprint.digest, tier: 'sealed' })).toMatchObject(sealed);
  expect(order({ content_b64: '', tier: 'sealed' })).toMatchObject({ content: Buffer.alloc(0), imprint: sha256Of('') });
  const { metadata } = order({ hash, metadata: JSON.parse('{"__proto__":"p","constructor":"c"}') });
  expect(JSON.stringify(metadata)).toBe('{"__proto__":"p","constructor":"c"}');
});

test.each<[object, StampRules, string, string, RegExp]>([
  [{ content_b64: 'YWJj', hash, tier: 'sealed' }, {}, 'value_error', 'body', /hash is not the SHA-256 of content_b64$/],
  [
    { content_b64: 'YWJj', tier: 'sealed' },
    { tier: 'basic' },
    'value_error',
    'body',
    /only allowed in tier sealed\. .* ends with \/sealed\.$/,
  ],
  [{ content_b64: 'YWJj' }, {}, 'value_error', 'body', /only allowed in tier sealed\. Add "tier": "sealed"\.$/],
  [{ content_b64: '-_-_', tier: 'sealed' }, {}, 'value_error', 'body.content_b64', /padded\. This looks like base64url/],
  [{ content_b64: 'YQ', tier: 'sealed' }, {}, 'value_error', 'body.content_b64', /padded$/],
  [{ hash, tier: 'gold' }, { tier: 'plus' }, 'enum', 'body.tier', /./],
])('S1, S5, E16: %j with %j is %s at %s', (body, rules, type, loc, said) => {
  expect(faults(stampRequestFor(rules), body)).toEqual([[type, loc, expect.stringMatching(said)]]);
});

const noBase64 = 'YQ YQ= YR== -_-_ YWJj= ==== = é YQ==YQ== YWJj\u00a0 YWJj\u0141 YW\\nJj'.split(' ');
test.each([...noBase64, 'YQ==\nYQ==', 'Y Q', 'YQ   '])('S2: %j is not canonical base64', (content_b64) => {
  const fault = ['value_error', 'body.content_b64', expect.any(String)];
  expect(faults(stampRequestFor(), { content_b64, tier: 'sealed' })).toEqual([fault]);
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
  ...['YWJj', 'YWJj\n', 'YW Jj', ' Y W\tJ\r\nj ', 'YWJj'.padStart(900)].map((encoded) => [3, encoded] as const),
  [2, 'YWI='],
  [0, ''],
] as const)('S2, S3: with at most %i bytes, %j is read, and is too large with one less', (sealedMaxBytes, encoded) => {
  const read = (most: number) => order({ content_b64: encoded }, { tier: 'sealed', sealedMaxBytes: most }).content;
  expect(read(sealedMaxBytes)).toEqual(Buffer.from('abc'.slice(0, sealedMaxBytes)).subarray(0, sealedMaxBytes));
  if (encoded !== '') expect(() => read(sealedMaxBytes - 1)).toThrow(expect.objectContaining({ code: 'payload_too_large' }));
});

test.each<[string, z.ZodType, object]>([
  ['metadata', stampRequestFor(), { hash }],
  ['briefing_metadata', workflowStartRequest, { user_email: 'a@example.com', agent_id: 'x', briefing_hash: hash }],
  ['output_metadata', workflowStampRequest, { output_hash: hash, output_type: 'image' }],
])('S4, W15: %s may be 4096 bytes of UTF-8 JSON', (member, schema, body) => {
  const check = (text: string) => faults(schema, { ...body, [member]: { k: text } });
  const refused = [['value_error', `body.${member}`, expect.any(String)]];
  expect([check('x'.repeat(4088)), check('x'.repeat(4089))]).toEqual([[], refused]);
  expect([check('é'.repeat(2044)), check('é'.repeat(2045))]).toEqual([[], refused]);
});

test.each<[string | undefined, string[]]>([
  ['value_error', ['x\n', 'x\ny', 'x\ty', 'x\u0000', '\r', '\u007f', 'x\u0085', 'x\u2028y', '\u2029']],
  ['string_unicode', ['\ud800']],
  ['string_too_long', ['😀'.repeat(101)]],
  [undefined, ['3d-model', 'text/plain', ' Entwurf, 3. Fassung (Ä) ', '図面', '👩‍🎨', '<b>"\'&', '😀'.repeat(100)]],
])('W3: the fault of an output type is %s: %j', (type, given) => {
  const fault = type ? [[type, 'body.output_type', expect.any(String)]] : [];
  for (const output_type of given) expect(faults(workflowStampRequest, { output_hash: hash, output_type }), output_type).toEqual(fault);
});

test('M2–M4: verification takes a token or its id, and the schema of tool arguments lists the required ones', () => {
  for (const given of [{}, { token: 't', token_id: '0190d9f0-0000-7000-8000-000000000000' }, { token: null }])
    expect(faults(verifyTokenArguments, given)).toEqual([['value_error', 'body', expect.any(String)]]);
  expect(z.toJSONSchema(stampHashArguments, { io: 'input' })).toMatchObject({
    type: 'object',
    required: ['sha256_hex'],
    properties: { sha256_hex: { type: 'string', pattern: '^[0-9a-fA-F]{64}$' }, tier: { enum: ['basic', 'plus', 'sealed'] } },
  });
});

test('the input in a 422 answer stays small, whatever was sent', () => {
  const inputs = (schema: z.ZodType, body: object) => validationItems(schema.safeParse(body).error!, body, ['body']);
  const large = { agent_id: 'x'.repeat(5_000_000), list: Array(1_000_000).fill(0), user_email: null };
  expect(JSON.stringify(inputs(workflowStartRequest, large)).length).toBeLessThan(10_000);
  const metadata = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, 0]));
  expect(inputs(stampRequestFor(), { hash, metadata })).toMatchObject([{ type: 'value_error', loc: ['body', 'metadata'] }]);
});
