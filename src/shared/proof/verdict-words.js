// @ts-check
// Words of verdicts. The templates of the pages and their scripts say the same sentence for the same verdict.

/** What every page and the command say about a time-stamp of the development TSA. */
export const developmentSentence = 'Development time-stamp, for trials: the operator holds the key.';

/**
 * What a court does with a time-stamp that is not qualified, for a reader who is no lawyer. A link *What this means* follows.
 *
 * @param {string | null | undefined} reason the code of the reason, which a sentence may follow
 */
export const notQualifiedSentence = (reason) =>
  /^(no_trusted_list|service_not_listed)\b/.test(reason ?? '')
    ? 'Not known to be qualified: it is evidence, but no court has to accept the time automatically.'
    : 'Not qualified: it is evidence, but no court has to accept the time automatically.';

/** The page that explains the words of verdicts. */
export const meaningPath = '/what-this-means';

/**
 * A proved stamp with which files are compared.
 *
 * @typedef {object} ComparedStamp
 * @property {boolean} isTest it is for trials
 * @property {boolean} mayBeOfBatch its token may be for the root of a batch, and so for any file
 */

/**
 * The end of the sentence about the stamped file or its hash. It begins with a name.
 *
 * @param {'file' | 'hash'} what
 * @param {ComparedStamp} stamp
 */
export function matchWords(what, { isTest }) {
  const isStamped = what === 'hash' ? 'is what was stamped' : 'is the stamped file';
  if (isTest) return `${isStamped}, but this stamp is for trials: it proves nothing to a third party.`;
  return what === 'hash' ? `${isStamped}.` : `${isStamped}, byte for byte. It is unchanged since it was stamped.`;
}

/**
 * The end of the sentence about another file. It begins with its name.
 *
 * @param {ComparedStamp} stamp
 */
export const otherFileWords = ({ mayBeOfBatch }) =>
  mayBeOfBatch ? `has changed, ${orOfBatch}` : 'is a different file, or was changed since it was stamped.';

const orOfBatch = 'or this is the token of a batch: use the .ers file.';

/**
 * The first words of the verdict if no file, or not the hash, is the stamped one: *valid* is then about a different file. `remark` stands before the
 * sentence about the stamp itself.
 *
 * @param {'file' | 'files' | 'hash'} what
 * @param {ComparedStamp} stamp
 */
export function otherVerdict(what, { isTest, mayBeOfBatch }) {
  const subject = { file: 'This file', files: 'None of these files', hash: 'The hash that you gave' }[what];
  const [one, none] = mayBeOfBatch
    ? ['does not match this token', 'matches this token']
    : ['is not what was stamped', 'is what was stamped'];
  return {
    title: `${subject} ${what === 'files' ? none : one}`,
    sentence: mayBeOfBatch
      ? `The file has changed, ${orOfBatch}`
      : 'The stamp proves nothing about your file: it is a different file, or was changed since it was stamped.',
    remark: isTest ? '' : 'The stamp itself is valid, but for another fingerprint. ',
  };
}
