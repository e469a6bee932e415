const mostCharacters = 60;

/** Mail programs turn these into links: `www.name`, `name.org`, and anything with a scheme or an `@`, which `allowed` does not have. */
const looksLikeLink = /\bwww\.|[\p{L}\p{M}\p{N}]\.\p{N}*[\p{L}\p{M}]/iu;
const allowed = /^[\p{L}\p{M}\p{N} .,'&()-]+$/u;
const longNumber = /\p{N}{5}/u;

/**
 * A name that a caller chose, if our mails and the page behind their link may quote it (W26); otherwise an empty text. Anyone can start a workflow with
 * any e-mail address, and must not be able to put a link into the mail.
 */
export function quotableName(given: string): string {
  const name = given.normalize('NFC').trim();
  const isSafe = allowed.test(name) && [...name].length <= mostCharacters && !longNumber.test(name) && !looksLikeLink.test(name);
  return isSafe ? name : '';
}
