// @ts-check For the page of a stamp and the form `/verify`. Compares a file with the stamped hash. The token is sent to the service, but never the
// file.
import { findBundle, showBundle } from './bundle-verdict.js';
import { addCopyButtons } from './copy.js';
import { openDropZone } from './drop-zone.js';
import { contentOf, hashFile } from './hash-file.js';
import { minuteInWords, showLocalTimes } from './local-time.js';
import { addResult, announce, find, icon, linkTo, made, verifyLink, worded } from './page-parts.js';
import { adviceWords, fileWords, otherVerdict } from './proof/verdict-words.js';
import { ZipFault } from './proof/zip-source.js';
import { isStampFile, readStampFile, whyNotStamped } from './stamp-file.js';
import { t } from './words.js';

/** The form shows its answer here. The page of one stamp has no such element. */
const answer = document.querySelector('#answer');

/** Files that were dropped before their stamp. @type {import('./hash-file.js').Content[]} */
let waiting = [];

/** The evidence bundle whose verdict the page shows. @type {File | undefined} */
let shownBundle;

/** The imprint of the stamp on the page, with facts from its verdict. */
function shownImprint() {
  const verdict = document.querySelector('#verdict[data-digest]');
  if (!(verdict instanceof HTMLElement)) return undefined;
  const { algorithm, digest, mayBeOfBatch } = verdict.dataset;
  return {
    algorithm: /** @type {import('./hash-file.js').Algorithm} */ (algorithm),
    digest,
    isTest: verdict.classList.contains('verdict-test'),
    since: verdict.querySelector('time')?.dateTime ?? '',
    // The token may be for the root of a batch, so a file that does not match may still be the stamped one.
    mayBeOfBatch: mayBeOfBatch !== undefined,
  };
}

/** Lets the service verify a token, and shows the answer. @param {string} token */
async function showVerdict(token) {
  const response = await fetch('/verify', { method: 'POST', body: new URLSearchParams({ token }), headers: { accept: 'text/html' } });
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const told = page.querySelector('#answer');
  if (!response.ok || !told) throw new Error(`status ${response.status}`);
  answer?.replaceChildren(...told.childNodes);
  if (!answer) return;
  addCopyButtons(answer);
  showLocalTimes(answer);
}

/**
 * Shows the verdict on a stamp file. If it is a container, also names its contents, and returns the file inside if it can be compared.
 *
 * @param {File} file
 */
async function takeStamp(file) {
  const { item, name, say } = addResult(find('.results'), file);
  try {
    const read = await readStampFile(file);
    if ('problem' in read) {
      const { problem, stampPage } = read;
      const advice = stampPage
        ? [' ', ...worded('If this service made the stamp, see {link}.', { link: linkTo(stampPage, t('the page of this stamp')) })]
        : [];
      say('warning', ...worded('**Not verified.** {name} {problem}', { name, problem }), ...advice);
      return undefined;
    }
    await showVerdict(read.token);
    if (!read.container) {
      item.remove();
      return undefined;
    }
    const { content, proofName, unread } = read.container;
    const isShown = shownImprint() !== undefined;
    say(
      'other',
      ...worded('**Container.** {name} contains {file} and the stamp {proof}. Only the stamp was sent to us.', {
        name,
        file: content.name,
        proof: proofName,
      }),
      isShown ? '' : ` ${t('Its file was not compared.')}`,
      ...unreadWords(unread),
    );
    return isShown ? content : undefined;
  } catch {
    say('warning', ...worded('**Not verified.** {name} could not be read or sent. Please try again.', { name }));
    return undefined;
  }
}

/** @param {readonly string[]} unread */
function unreadWords(unread) {
  if (unread.length === 0) return [];
  const named = unread.slice(0, 6).join(', ');
  const more = unread.length > 6 ? ` ${t('and {count} more', { count: unread.length - 6 })}` : '';
  return [' ', ...worded('**Not checked:** {files}, also in the container.', { files: named + more })];
}

/** @typedef {NonNullable<ReturnType<typeof shownImprint>>} Imprint */

/** @param {import('./hash-file.js').Content} file @param {Imprint} imprint */
async function compareFile(file, imprint) {
  const { name, say, tell, progress } = addResult(find('.results'), file);
  try {
    const hash = await hashFile(file, imprint.algorithm, progress);
    const isSame = hash === imprint.digest;
    const proof = [t('Its fingerprint is {hash}.', { hash })];
    if (isSame && imprint.isTest) tell('test', fileWords.stampedInTrial, { advice: t(adviceWords.trial), proof });
    else if (isSame) tell('proved', fileWords.unchanged, { values: { time: minuteInWords(imprint.since) }, proof });
    else if (imprint.mayBeOfBatch) tell('refused', fileWords.notOfToken, { advice: t(adviceWords.batch), proof });
    else if (isStampFile(file)) tell('other', fileWords.ours, { advice: verifyLink() });
    else tell('refused', fileWords.notStamped, { advice: t(adviceWords.original), proof });
    return isSame;
  } catch (error) {
    if (error instanceof ZipFault)
      say('warning', ...worded('**Not compared.** {name} cannot be unpacked: {reason}.', { name, reason: error.message }));
    else tell('not_proved', fileWords.unread);
    return undefined;
  }
}

/**
 * If no file is the stamped file, the verdict says this at its top, because *valid* is then about a different file. `partials/verdict` does the same for
 * a hash.
 *
 * @param {(boolean | undefined)[]} compared whether each file is the stamped one; undefined if it could not be read
 * @param {Imprint} imprint
 */
function showComparison(compared, imprint) {
  const verdict = find('#verdict');
  const isOfAnother = compared.includes(false) && !compared.includes(true);
  const level = find('h1, h2', verdict).localName;
  for (const told of verdict.querySelectorAll('.of-another')) told.remove();
  verdict.classList.toggle('is-of-another', isOfAnother);
  verdict.setAttribute('aria-labelledby', isOfAnother ? 'not-stamped' : 'verdict-title');
  if (!isOfAnother) return;
  const words = otherVerdict(compared.length > 1 ? 'files' : 'file', imprint);
  const heading = ofAnother(level, icon('cross'), ofAnother('span', t(words.title)));
  heading.id = 'not-stamped';
  const sentence = ofAnother('p', t(words.sentence));
  sentence.classList.add('sentence');
  find('.sentence', verdict).prepend(ofAnother('span', words.remark && `${t(words.remark)} `));
  verdict.prepend(heading, sentence);
  announce(t(words.title));
}

/** Makes an element about a file that is not the stamped file. @param {string} tag @param {(string | Node)[]} parts */
function ofAnother(tag, ...parts) {
  const element = made(tag, ...parts);
  element.className = 'of-another';
  return element;
}

/** @param {File[]} files */
async function take(files) {
  const stamp = answer ? files.find(isStampFile) : undefined;
  const bundle = answer && !stamp ? ((await findBundle(files)) ?? shownBundle) : undefined;
  shownBundle = bundle;
  if (answer && bundle) {
    find('.results').replaceChildren();
    const contents = [...waiting, ...files.filter((file) => file !== bundle).map(contentOf)];
    waiting = [];
    return showBundle(answer, bundle, contents);
  }
  waiting = [...(stamp || !shownImprint() ? waiting : []), ...files.filter((file) => file !== stamp).map(contentOf)];
  find('.results').replaceChildren();
  if (stamp) {
    answer?.replaceChildren();
    const content = await takeStamp(stamp);
    if (content) waiting.unshift(content);
  }
  const imprint = shownImprint();
  const compared = [];
  const left = [];
  for (const file of waiting) {
    if (imprint) compared.push(await compareFile(file, imprint));
    else if (await letWait(file)) left.push(file);
  }
  waiting = left;
  if (imprint) showComparison(compared, imprint);
}

/** Says that a file waits for its stamp, or why it does not. Returns whether it waits. @param {import('./hash-file.js').Content} file */
async function letWait(file) {
  const { name, say } = addResult(find('.results'), file);
  const why = await whyNotStamped(file).catch(() => undefined);
  if (why) say('warning', ...worded('**Keep it secret.** {name} {problem}', { name, problem: why }));
  else say('pending', ...worded('{name} waits for its stamp. Choose or drop the stamp too.', { name }));
  return !why;
}

addCopyButtons();
openDropZone(take);
