import { domainToASCII } from 'node:url';
import type { z } from 'zod';
import { type PydanticIssue, ruled, text } from './fields.ts';

/** The most characters of an address (W11; RFC 5321 §4.5.3.1.3 with erratum 1690). */
const maxEmailCharacters = 254;
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
function emailFault(address: string): string | undefined {
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
  const strangers = distinctMatches(local, strangerInLocalPart);
  if (strangers) return `The email address contains invalid characters before the @-sign: ${strangers}.`;
  if (unreadable.test(local)) return `The email address contains unsafe characters: ${distinctMatches(local, unreadable)}.`;
  return localDotFault(local);
}

function domainFault(domain: string): string | undefined {
  const strangers = distinctMatches(domain, strangerInDomain);
  if (strangers) return `The part after the @-sign contains invalid characters: ${strangers}.`;
  if (unreadable.test(domain)) return `The email address contains unsafe characters: ${distinctMatches(domain, unreadable)}.`;
  const ascii = domainToASCII(domain) || domain;
  const start = 'An email address cannot have a';
  if (/^[.-]/.test(ascii)) return `${start} ${nameOf(ascii.at(0))} immediately after the @-sign.`;
  if (/[.-]$/.test(ascii)) return `An email address cannot end with a ${nameOf(ascii.at(-1))}.`;
  if (ascii.includes('..')) return twoPeriods;
  if (/\.-|-\./.test(ascii)) return `${start} period and a hyphen next to each other.`;
  if (!/^[a-z0-9.-]+$/.test(ascii)) return 'The part after the @-sign is not a domain name.';
  if (ascii.length > maxDomainBytes) return 'The email address is too long after the @-sign.';
  if (ascii.split('.').some((label) => label.length > 63)) {
    return 'After the @-sign, periods cannot be separated by so many characters.';
  }
  if (!ascii.includes('.')) return 'The part after the @-sign is not valid. It should have a period.';
  if (!/[a-z]$/.test(ascii)) return 'The part after the @-sign is not valid. It is not within a valid top-level domain.';
  return undefined;
}

const twoPeriods = 'An email address cannot have two periods in a row.';

function localDotFault(local: string): string | undefined {
  if (local.endsWith('.')) return 'An email address cannot have a period immediately before the @-sign.';
  if (local.startsWith('.')) return 'An email address cannot start with a period.';
  return local.includes('..') ? twoPeriods : undefined;
}

const nameOf = (character: string | undefined): string => (character === '.' ? 'period' : 'hyphen');

/** The characters that match, each once, in order, as they may be shown; undefined when none does. */
function distinctMatches(part: string, pattern: RegExp): string | undefined {
  const characters = [...new Set(part)].filter((character) => pattern.test(character));
  return characters.length === 0 ? undefined : characters.map(display).sort().join(', ');
}

/** RFC 5321 counts octets; an address that is internationalised has more of them than characters. */
function lengthFault(address: string): string | undefined {
  const tooMany = Buffer.byteLength(address) - maxEmailCharacters;
  return tooMany > 0 ? `The email address is too long (${tooMany} bytes too many).` : undefined;
}

function display(character: string): string {
  if (character === ' ') return 'SPACE';
  if (unreadable.test(character)) return `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
  return character === "'" || character === '\\' ? `"${character}"` : `'${character}'`;
}

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
