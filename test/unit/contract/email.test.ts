import { expect, test } from 'vitest';
import { validationItems } from '../../../src/api/http/validation-items.ts';
import { email } from '../../../src/shared/contract/email.ts';

function faultOf(address: string) {
  const result = email.safeParse(address);
  return result.success ? undefined : validationItems(result.error, address, ['body', 'user_email'])[0];
}

const longDomain = (length: number) => `${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(length - 128)}.e.com`;

test.each([
  'a@example.com',
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
])('W11: %s is an address, and kept as given', (address) => {
  expect(email.parse(address)).toBe(address);
});

test.each([
  ['', 'An email address must have an @-sign.'],
  ['jane', 'An email address must have an @-sign.'],
  ['@example.com', 'There must be something before the @-sign.'],
  ['jane@', 'There must be something after the @-sign.'],
  ['a b@example.com', 'The email address contains invalid characters before the @-sign: SPACE.'],
  [' a@example.com', 'The email address contains invalid characters before the @-sign: SPACE.'],
  ['a@example.com ', 'The part after the @-sign contains invalid characters: SPACE.'],
  ['a@b@example.com', "The part after the @-sign contains invalid characters: '@'."],
  ['a(),;@example.com', "The email address contains invalid characters before the @-sign: '(', ')', ',', ';'."],
  ['a@example.com\r\nBcc: b@example.com', "The part after the @-sign contains invalid characters: ':', '@', SPACE, U+000A, U+000D."],
  ['Jane <jane@example.com>', "The email address contains invalid characters before the @-sign: '<', SPACE."],
  ['.a@example.com', 'An email address cannot start with a period.'],
  ['a.@example.com', 'An email address cannot have a period immediately before the @-sign.'],
  ['a..b@example.com', 'An email address cannot have two periods in a row.'],
  ['a@.example.com', 'An email address cannot have a period immediately after the @-sign.'],
  ['a@example.com.', 'An email address cannot end with a period.'],
  ['a@-example.com', 'An email address cannot have a hyphen immediately after the @-sign.'],
  ['a@example.-com', 'An email address cannot have a period and a hyphen next to each other.'],
  ['a@example..com', 'An email address cannot have two periods in a row.'],
  ['a@exa_mple.com', "The part after the @-sign contains invalid characters: '_'."],
  ['a@localhost', 'The part after the @-sign is not valid. It should have a period.'],
  ['a@192.0.2.1', 'The part after the @-sign is not valid. It is not within a valid top-level domain.'],
  ['a\u{200b}@example.com', 'The email address contains unsafe characters: U+200B.'],
  ['a@exam\u{202e}ple.com', 'The email address contains unsafe characters: U+202E.'],
  [`${'a'.repeat(65)}@example.com`, 'The email address is too long before the @-sign (more than 64 bytes).'],
  [`a@${'b'.repeat(64)}.com`, 'After the @-sign, periods cannot be separated by so many characters.'],
  [`${'a'.repeat(64)}@${longDomain(190)}`, 'Length must not exceed 254 characters'],
  [`${'é'.repeat(32)}@${longDomain(190)}`, 'The email address is too long (1 bytes too many).'],
  ['a'.repeat(3_000_000), 'Length must not exceed 254 characters'],
])('W11: %j is refused with its reason', (address, reason) => {
  expect(faultOf(address)).toMatchObject({
    type: 'value_error',
    loc: ['body', 'user_email'],
    msg: `value is not a valid email address: ${reason}`,
    ctx: { reason },
  });
});
