import { domainToASCII } from 'node:url';
import type { z } from 'zod';
import { type PydanticIssue, ruled, text } from './fields.ts';

/** The most characters of an address (W11; RFC 5321 §4.5.3.1.3 with erratum 1690). */
export const maxEmailCharacters = 254;
const maxLocalPartBytes = 64;
const maxDomainBytes = 253;

const atext = "a-zA-Z0-9!#$%&'*+/=?^_`{|}~\\u{80}-\\u{10ffff}-";
const strangerInLocalPart = new RegExp(`[^.${atext}]`, 'u');
const strangerInDomain = /[^a-zA-Z0-9.\u{80}-\u{10ffff}-]/u;
/** Blanks, controls, formats, surrogates, private use and unassigned characters: nothing that a person can read and type. */
const unreadable = /[\p{Z}\p{C}]/u;

/**
 * Why a text is no e-mail address, in the words of Python's `email-validator`; undefined when it is one: a dot-atom (RFC 5322
 * §3.2.3, RFC 6531 §3.3) and a domain name with a dot. No quoted local parts, display names, comments or address literals.
 */
export function emailFault(address: string): string | undefined {
  const at = address.indexOf('@');
  if (at < 0) return 'An email address must have an @-sign.';
  const local = address.slice(0, at);
  const domain = address.slice(at + 1);
  if (local === '') return 'There must be something before the @-sign.';
  if (domain === '') return 'There must be something after the @-sign.';
  return localPartFault(local) ?? domainFault(domain) ?? lengthFault(address);
}

function localPartFault(local: string): string | undefined {
  if (Buffer.byteLength(local) > maxLocalPartBytes) {
    return `The email address is too long before the @-sign (more than ${maxLocalPartBytes} bytes).`;
  }
  const stranger = strangerInLocalPart.exec(local) ?? unreadable.exec(local);
  if (stranger) return `The email address contains invalid characters before the @-sign: ${display(stranger[0])}.`;
  return dotFault(local);
}

function domainFault(domain: string): string | undefined {
  const stranger = strangerInDomain.exec(domain) ?? unreadable.exec(domain);
  if (stranger) return `The part after the @-sign contains invalid characters: ${display(stranger[0])}.`;
  const ascii = domainToASCII(domain);
  const dots = dotFault(ascii);
  if (dots) return dots;
  if (ascii === '') return 'The part after the @-sign contains invalid characters (not a domain name).';
  const labels = ascii.split('.');
  if (ascii.length > maxDomainBytes) return 'The email address is too long after the @-sign.';
  if (labels.some((label) => label.length > 63)) return 'After the @-sign, periods cannot be separated by so many characters.';
  if (labels.some((label) => label.startsWith('-') || label.endsWith('-'))) {
    return 'An email address cannot have a hyphen at the start or the end of a part of the domain.';
  }
  if (labels.length < 2) return 'The part after the @-sign is not valid. It should have a period.';
  if (!/[a-z]$/.test(ascii)) return 'The part after the @-sign is not valid. It is not within a valid top-level domain.';
  return undefined;
}

function dotFault(part: string): string | undefined {
  if (part.startsWith('.')) return 'An email address cannot have a period at the start of a part.';
  if (part.endsWith('.')) return 'An email address cannot have a period at the end of a part.';
  return part.includes('..') ? 'An email address cannot have two periods in a row.' : undefined;
}

/** RFC 5321 counts octets; an address that is internationalised has more of them than characters. */
function lengthFault(address: string): string | undefined {
  const tooMany = Buffer.byteLength(address) - maxEmailCharacters;
  return tooMany > 0 ? `The email address is too long (${tooMany} bytes too many).` : undefined;
}

const display = (character: string): string =>
  unreadable.test(character) ? `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}` : `'${character}'`;

function judge(address: string): PydanticIssue | undefined {
  const reason =
    address.length > 2 * maxEmailCharacters || [...address].length > maxEmailCharacters
      ? `Length must not exceed ${maxEmailCharacters} characters`
      : emailFault(address);
  return reason === undefined ? undefined : { type: 'value_error', msg: `value is not a valid email address: ${reason}`, ctx: { reason } };
}

/** An e-mail address, kept as given (W11). */
export const email: z.ZodType<string, string> = ruled(text(), judge).meta({
  format: 'email',
  maxLength: maxEmailCharacters,
  examples: ['jane@example.com'],
});
