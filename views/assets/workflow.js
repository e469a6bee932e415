// @ts-check For the page of a workflow: compares files inside the browser, copies hashes, and follows links to outputs on other pages. The page works
// without this script.
import { pathWords, proveInBrowser } from './browser-proof.js';
import { isBundle } from './bundle-check.js';
import { addCopyButtons } from './copy.js';
import { openDropZone } from './drop-zone.js';
import { contentOf, hashFile } from './hash-file.js';
import { minuteInWords } from './local-time.js';
import { addResult, find, linkTo, verifyLink, worded } from './page-parts.js';
import { octetsOfSha256 } from './proof/octets.js';
import { adviceWords, fileWords } from './proof/verdict-words.js';
import { isStampFile } from './stamp-file.js';
import { t } from './words.js';

const certificate = find('.certificate').dataset;
const [outputs, page, pageSize] = [certificate.outputs, certificate.page, certificate.pageSize].map(Number);
const isTest = find('.certificate').classList.contains('is-test');
/** Whether the page states that the record is correct (V9). This changes if the browser finds a fault. */
const isClaimed = () => certificate.proof === 'proved' || certificate.proof === 'open';
/** Whether all outputs are known. If the record is broken or unfinished, only a part of its chain was read. */
const isWhole = () => certificate.proof !== 'broken' && certificate.proof !== 'unfinished';
/** The maximum number of outputs that are shown for one hash; the same as in the service. */
const mostFound = 100;

/** All outputs, after the browser has recomputed their tree. @type {import('./proof/merkle-tree.js').MerkleTree | undefined} */
let tree;

/** The rows on this page that have this hash. @param {string} hash @returns {NodeListOf<HTMLElement>} */
const rowsWith = (hash) => document.querySelectorAll(`tr[data-hash="${hash}"]`);

/** The numbers of the outputs with a hash: from the tree if there is one, else from this page, else, if there are more pages, from the service, which gets only the hash. @param {string} hash */
async function findOutputs(hash) {
  if (tree) return tree.indexesOf(octetsOfSha256(hash), mostFound).map((index) => index + 1);
  const onPage = [...rowsWith(hash)].map((row) => Number(row.dataset.number));
  if (onPage.length > 0 || outputs <= pageSize) return onPage;
  const answer = await fetch(`${location.pathname}?find=${hash}`);
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const found = new DOMParser().parseFromString(await answer.text(), 'text/html');
  // The answer is newer than this page, so its verdict counts.
  if (isClaimed()) certificate.proof = find('.certificate', found).dataset.proof;
  const told = found.querySelector('[data-found]')?.getAttribute('data-found') ?? '';
  return told.split(' ').filter(Boolean).map(Number);
}

/** @param {number} number */
const pageOf = (number) => Math.ceil(number / pageSize);

/** @param {number} number */
function addressOf(number) {
  if (pageOf(number) === page) return `#output-${number}`;
  const query = new URLSearchParams(location.search);
  query.delete('find');
  query.set('page', String(pageOf(number)));
  return `?${query}#output-${number}`;
}

/** The time since which a file is proved: that of the root, or of its own stamp. @param {string} hash @returns {string | undefined} */
const sinceOf = (hash) => certificate.since ?? rowsWith(hash)[0]?.querySelector('time')?.dateTime;

/** @param {File} file */
async function compareFile(file) {
  const { item, tell, progress } = addResult(find('.check .results'), file);
  try {
    const hash = await hashFile(contentOf(file), 'sha256', progress);
    item.dataset.hash = hash;
    const numbers = await findOutputs(hash);
    const isBriefing = hash === find('[data-briefing]').dataset.briefing;
    const places = [
      ...(isBriefing ? [t('the briefing')] : []),
      ...numbers.map((number) => linkTo(addressOf(number), t('file {number}', { number: String(number) }))),
    ].flatMap((place, i) => (i > 0 ? [', ', place] : [place]));
    const fingerprint = t('Its SHA-256 is {hash}.', { hash });
    const path = tree && numbers.length === 1 ? pathWords(tree, numbers[0]) : '';
    const proof = [...worded('It is {places}.', { places }), path, ` ${fingerprint}`];
    const since = sinceOf(hash);
    if (places.length > 0 && !isClaimed()) tell('not_proved', fileWords.notProved, { values: { places } });
    else if (places.length > 0 && isTest) tell('test', fileWords.recorded, { advice: t(adviceWords.trial), proof });
    else if (numbers.length > 0 && since) tell('proved', fileWords.unchanged, { values: { time: minuteInWords(since) }, proof });
    else if (numbers.length > 0) tell('other', fileWords.recorded, { advice: t(adviceWords.elsewhere), proof });
    else if (isBriefing) tell('proved', fileWords.briefing, { advice: t(adviceWords.briefing), proof });
    else if (isStampFile(file) || (await isBundle(file))) tell('other', fileWords.ours, { advice: verifyLink() });
    else if (isWhole()) tell('refused', fileWords.notRecorded, { advice: t(adviceWords.original), proof: [fingerprint] });
    else tell('not_proved', fileWords.unknown, { proof: [fingerprint] });
    for (const row of rowsWith(hash)) {
      row.classList.add('match');
      row.closest('details')?.setAttribute('open', '');
    }
  } catch {
    tell('not_proved', fileWords.unread);
  }
}

/** @param {File[]} files */
async function compareAll(files) {
  for (const row of document.querySelectorAll('tr.match')) row.classList.remove('match');
  find('.check .results').replaceChildren();
  for (const file of files) await compareFile(file);
}

/**
 * If the fragment of the URL names an output on another page, opens that page. The server cannot do this, because it never gets the part after `#`.
 */
function followAnchor() {
  const number = Number(/^#output-(\d+)$/.exec(location.hash)?.[1]);
  if (number >= 1 && number <= outputs && pageOf(number) !== page) location.replace(addressOf(number));
}

followAnchor();
addEventListener('hashchange', followAnchor);
addCopyButtons();
const compareAgain = openDropZone(compareAll);
if (document.querySelector('#in-browser-proof')) {
  const wasClaimed = isClaimed();
  tree = await proveInBrowser();
  if (wasClaimed && !isClaimed()) compareAgain();
}
