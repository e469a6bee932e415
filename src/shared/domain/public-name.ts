export const maxPublicNameCharacters = 100;

/**
 * The beginning of a web address, an e-mail address, or a host or IP address with a path, a query or a port. A file name like `cover.png`, `icon@2x.png`
 * or `v1.0/cover.png` is none of these.
 */
const looksLikeLink =
  /\/\/|\b(?:javascript|mailto):|\bwww\.|@(?!\d+x\.)[\p{L}\p{N}]|[\p{L}\p{N}]\.(?:\p{L}[\p{L}\p{N}-]+|\d+\.\d+\.\d+)(?:\/|\?\S|:\d)/iu;
/** Control characters, and invisible ones that change the order of a text. Joiners inside words and emoji are allowed. */
const unprintable = /[\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{C}/u;

/** Characters that show nothing. */
const invisible = /[\p{DI}\p{Z}\u2800]/gu;

/** Metadata of an output (`name`) or of a briefing (`title`), which its caller marked as public with `"public": true`. */
export type PublicMember = 'name' | 'title';

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;

/**
 * The name that the holder of the workflow token made public (W24): `name` of an output, or `title` of a briefing. Null if there is none, or if it must
 * not be shown.
 *
 * @param json the metadata as JSON; undefined after redaction
 */
export function publicNameOf(json: string | undefined, member: PublicMember): string | null {
  if (json === undefined) return null;
  const metadata: unknown = JSON.parse(json);
  if (!isObject(metadata) || metadata.public !== true) return null;
  const name = metadata[member];
  return typeof name === 'string' && canBeShown(name) ? name.trim().normalize('NFC') : null;
}

/** The type of an output as a page shows it. A text that must not be shown as a name is not shown as a type either. */
export const shownTypeOf = (type: string): string => (canBeShown(type) ? type : 'other');

/** Whether a name is one short line of visible characters, without a link and without an e-mail address. */
export function canBeShown(name: string): boolean {
  if (name.replace(invisible, '') === '' || [...name.trim()].length > maxPublicNameCharacters || unprintable.test(name)) return false;
  return !looksLikeLink.test(name.normalize('NFKC').replace(/[\u200c\u200d]/g, ''));
}

/** The maximum length of a name in a mail, in characters. */
const mostQuotedCharacters = 60;

/** Mail programs turn these into links: `www.name`, `name.org`, and anything with a scheme or an `@`, which `allowed` does not have. */
const becomesLink = /\bwww\.|[\p{L}\p{M}\p{N}]\.\p{N}*[\p{L}\p{M}]/iu;
const allowed = /^[\p{L}\p{M}\p{N} .,'&()-]+$/u;
const longNumber = /\p{N}{5}/u;

/**
 * A name that a caller chose, if our mails and the page behind their link may quote it (W26); otherwise an empty text. Anyone can start a workflow with
 * any e-mail address, and must not be able to put a link into the mail.
 */
export function quotableName(given: string): string {
  const name = given.normalize('NFC').trim();
  const isSafe = allowed.test(name) && [...name].length <= mostQuotedCharacters && !longNumber.test(name) && !becomesLink.test(name);
  return isSafe ? name : '';
}

/** Endings of common files that are no top-level domains: mail programs turn `setup.py` and `photos.zip` into links. */
const quotableEnding = /\.(?:csv|docx?|gif|html|jpe?g|json|mp[34]|odt|pdf|png|pptx?|svg|tsx?|txt|wav|webp|xlsx?|xml)$/i;

/** The name of a file that a caller chose, if our mails may quote it (W27); otherwise an empty text. The rules are those of other names. */
export function quotableFileName(given: string): string {
  const stem = given.replace(quotableEnding, '').replaceAll('_', ' ');
  return quotableName(stem) && given.normalize('NFC').trim();
}
