import { expect, test } from 'vitest';
import { validationItems } from '../../../src/api/server/validation-items.ts';
import { email } from '../../../src/shared/contract/email.ts';

function faultOf(address: string) {
  const result = email.safeParse(address);
  return result.success ? undefined : validationItems(result.error, address, ['body', 'user_email'])[0];
}

const longDomain = (length: number) => `${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(length - 128)}.e.com`;

test.each([
  'a@example.com',
  'A@Example.COM',
  "o'neil+tag@sub.ex-ample.co.uk",
  '!#$%&*/=?^_`{|}~-@example.com',
  'jürgen@münchen.de',
  'x@例え.jp',
  'a@xn--mnchen-3ya.de',
  'someone@service.test',
  'someone@printer.local',
  `${'a'.repeat(64)}@example.com`,
  `${'a'.repeat(64)}@${longDomain(189)}`,
  `a@${'b'.repeat(63)}.com`,
])('W11: %s is a valid address and kept unchanged', (address) => {
  expect(email.parse(address)).toBe(address);
});

test.each(['', 'jane', 'a'.repeat(3_000_000)])('W11: %.20s has no @-sign', (address) => {
  const reason = 'An email address must have an @-sign.';
  const told = { type: 'value_error', loc: ['body', 'user_email'], msg: `value is not a valid email address: ${reason}`, ctx: { reason } };
  expect(faultOf(address)).toMatchObject(told);
});

test.each([
  '@example.com',
  'jane@',
  'a b@example.com',
  ' a@example.com',
  'a@example.com ',
  'a@b@example.com',
  'a(),;@example.com',
  'a@example.com\r\nBcc: b@example.com',
  'Jane <jane@example.com>',
  '.a@example.com',
  'a.@example.com',
  'a..b@example.com',
  'a@.example.com',
  'a@example.com.',
  'a@-example.com',
  'a@example.-com',
  'a@example-.com',
  'a@example..com',
  'a@exa_mple.com',
  'a@ex%61mple.com',
  'a@localhost',
  'a@192.0.2.1',
  'a\u{200b}@example.com',
  'a@exam\u{202e}ple.com',
  `${'a'.repeat(65)}@example.com`,
  `a@${'b'.repeat(64)}.com`,
  `${'a'.repeat(64)}@${longDomain(190)}`,
  `${'é'.repeat(32)}@${longDomain(190)}`,
  `a@${'b.'.repeat(2_000_000)}com`,
])('W11: %.60j is not an address', (address) => {
  expect(faultOf(address)).toMatchObject({
    type: 'value_error',
    loc: ['body', 'user_email'],
    msg: expect.stringContaining('name@example.com'),
  });
});
