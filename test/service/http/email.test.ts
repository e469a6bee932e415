import { expect, test } from 'vitest';
import { email } from '../../../src/shared/contract/fields.ts';

const [a64, b60, b63] = ['a'.repeat(64), 'b'.repeat(60), 'b'.repeat(63)];
const longDomain = (length: number) => `${b60}.${b60}.${'d'.repeat(length - 128)}.e.com`;

test.each([
  ...['a@example.com', 'A@Example.COM', "o'neil+tag@sub.ex-ample.co.uk", '!#$%&*/=?^_`{|}~-@example.com', 'jürgen@münchen.de', 'x@例え.jp'],
  ...['a@xn--mnchen-3ya.de', 'someone@service.test', 'someone@printer.local'],
  ...[`${a64}@example.com`, `${a64}@${longDomain(189)}`, `a@${b63}.com`],
])('W11: %s is a valid address and kept unchanged', (address) => {
  expect(email.parse(address)).toBe(address);
});

test.each([
  ...['', 'jane', 'a'.repeat(3_000_000), '@example.com', 'jane@', 'a b@example.com', ' a@example.com', 'a@example.com ', 'a@b@example.com'],
  ...['a(),;@example.com', 'a@example.com\r\nBcc: b@example.com', 'Jane <jane@example.com>', '.a@example.com', 'a.@example.com'],
  ...['a..b@example.com', 'a@.example.com', 'a@example.com.', 'a@-example.com', 'a@example.-com', 'a@example-.com', 'a@example..com'],
  ...['a@exa_mple.com', 'a@ex%61mple.com', 'a@localhost', 'a@192.0.2.1', 'a\u{200b}@example.com', 'a@exam\u{202e}ple.com'],
  ...[`a${a64}@example.com`, `a@b${b63}.com`, `${a64}@${longDomain(190)}`, `${'é'.repeat(32)}@${longDomain(190)}`],
  `a@${'b.'.repeat(2_000_000)}com`,
])('W11: not an address, and the answer says what is wrong, case %#', (address) => {
  const said = address.includes('@') ? 'name@example.com' : 'An email address must have an @-sign.';
  expect(email.safeParse(address).error?.issues).toMatchObject([{ message: expect.stringContaining(said) }]);
});
