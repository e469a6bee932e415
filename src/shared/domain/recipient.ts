import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';

/** Two names of one service, which ignores dots in the part before the `@`. */
const gmail = 'gmail.com';
const gmailDomains = [gmail, 'googlemail.com'];

/** The domain in lower case and ASCII, as mail servers see it. */
const domainOf = (given: string): string => (URL.canParse(`http://${given}`) ? new URL(`http://${given}`).hostname : given.toLowerCase());

/** One spelling for all addresses that reach the same mailbox: without case, a `+tag`, and the dots and second domain of Gmail. */
export function normalizedRecipient(address: string): string {
  const at = address.lastIndexOf('@');
  const domain = domainOf(address.slice(at + 1));
  const local = address.slice(0, at).normalize('NFC').toLowerCase();
  const untagged = local.replace(/(?<=.)\+.*$/su, '');
  return gmailDomains.includes(domain) ? `${untagged.replaceAll('.', '')}@${gmail}` : `${untagged}@${domain}`;
}

const hmac = (key: KeyObject, purpose: string, text: string): Buffer => createHmac('sha256', key).update(`${purpose}\n${text}`).digest();

/** The hash under which the service knows a recipient, in base64url. Without the key nobody can find it from an address. */
export const recipientHash = (key: KeyObject, address: string): string =>
  hmac(key, 'recipient', normalizedRecipient(address)).toString('base64url');

const proofBytes = 16;
const proofOf = (key: KeyObject, hash: string): Buffer => hmac(key, 'stop', hash).subarray(0, proofBytes);

/** The token in the link that stops the mails to a recipient: the hash, and a proof that the service made it. */
export const stopTokenOf = (key: KeyObject, hash: string): string => `${hash}.${proofOf(key, hash).toString('base64url')}`;

/** The hash in a token, or undefined if the service did not make it. */
export function recipientOfStopToken(key: KeyObject, token: string): string | undefined {
  const [hash = '', proof = ''] = token.split('.');
  const given = Buffer.from(proof, 'base64url');
  return given.length === proofBytes && timingSafeEqual(given, proofOf(key, hash)) ? hash : undefined;
}

/** The text that replaces an e-mail address when it is redacted (W10). */
export const redactedEmail = '[REDACTED]';

/**
 * Masks an e-mail address for public pages (W11): `j•••@example.com`. There are always three dots, whatever the length. The first character is a
 * whole grapheme. The local part ends at the last `@`, because a quoted local part may contain more of them (RFC 5321 §4.1.2).
 */
export function maskEmail(address: string): string {
  const at = address.lastIndexOf('@');
  if (address === redactedEmail || at < 1) return redactedEmail;
  const [first] = new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(address.slice(0, at));
  return `${first?.segment ?? ''}•••${address.slice(at)}`;
}
