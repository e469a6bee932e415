import { domainToASCII } from 'node:url';
import type { z } from 'zod';
import { type PydanticIssue, ruled, text } from './fields.ts';

/** Maximum length of an e-mail address, in octets (W11; RFC 5321 §4.5.3.1.3 with erratum 1690). */
const maxEmailOctets = 254;
/** Maximum length of the part before the @-sign, in octets (RFC 5321 §4.5.3.1.1). */
const maxLocalPartOctets = 64;

/** An atom: the text between two dots before the @-sign (RFC 5322 §3.2.3, RFC 6531 §3.3). */
const atom = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~\\u{80}-\\u{10ffff}-]+";
/** A dot-atom, an @-sign and a domain name. Quoted local parts, display names, comments, address literals and invisible characters do not match. */
const shape = new RegExp(`^(?!.*[\\p{Z}\\p{C}])(${atom}(?:\\.${atom})*)@([a-zA-Z0-9.\\u{80}-\\u{10ffff}-]+)$`, 'u');
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
/** A domain name in ASCII, with at least one dot and a letter at the end. */
const domainName = new RegExp(`^(?=.{1,253}$)(?:${label}\\.)+${label}(?<=[a-z])$`);

function isEmail(address: string): boolean {
  if (Buffer.byteLength(address) > maxEmailOctets) return false;
  const [, local = '', domain = ''] = shape.exec(address) ?? [];
  return local !== '' && Buffer.byteLength(local) <= maxLocalPartOctets && domainName.test(domainToASCII(domain) || domain);
}

function judge(address: string): PydanticIssue | undefined {
  if (isEmail(address)) return undefined;
  const reason = address.includes('@')
    ? `It must look like name@example.com, and have at most ${maxEmailOctets} characters.`
    : 'An email address must have an @-sign.';
  return { type: 'value_error', msg: `value is not a valid email address: ${reason}`, ctx: { reason } };
}

/** Accepts an e-mail address and does not change it. */
export const email: z.ZodType<string, string> = ruled(text(), judge).meta({
  format: 'email',
  maxLength: maxEmailOctets,
  examples: ['jane@example.com'],
});
