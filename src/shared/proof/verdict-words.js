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

/** What a page says about a file that was compared, with named values. */
export const fileWords = {
  unchanged: 'Yes: {file} is unchanged since {time}.',
  briefing: 'Yes: {file} is the briefing of this record, unchanged.',
  stampedInTrial: 'Yes: {file} is the stamped file.',
  recorded: 'Yes: {file} is in this record.',
  notProved: 'Not proved: {file} is recorded as {places}, but nothing here proves it.',
  notRecorded: 'No: {file} is not in this record.',
  notStamped: 'No: {file} is not what was stamped.',
  notOfToken: 'No: {file} does not match this token.',
  unknown: 'It is not known whether {file} is in this record, because the record does not hold or is still being checked.',
  ours: 'Not a file to compare: {file} is a time-stamp or an evidence bundle.',
  unread: 'Not compared: {file} could not be read. Please try again.',
};

/** What the reader can do, or must know, after one of these sentences. */
export const adviceWords = {
  original: 'Even saving a file again can change it. Ask for the original.',
  batch: 'The file has changed, or this is the token of a batch: use the .ers file.',
  trial: 'The stamps are for trials: they prove nothing to a third party.',
  elsewhere: 'Its own stamp is on another page of this record, and was not checked for this page.',
  briefing: 'It is the task of the agent, not one of its files.',
};

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
      ? adviceWords.batch
      : 'The stamp proves nothing about your file: it is a different file, or was changed since it was stamped.',
    remark: isTest ? '' : 'The stamp itself is valid, but for another fingerprint.',
  };
}
