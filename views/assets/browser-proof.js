// @ts-check
// The browser also checks the record of a workflow: it recomputes the record from the published data, and compares it with this page and with the
// imprints in the tokens.
import { UnjudgedFault } from './der.js';
import { announce, find, icon, made, worded } from './page-parts.js';
import { hexOf } from './proof/octets.js';
import { LoadFault, loadClosingRecord, loadEvidence, loadOutputs } from './published-record.js';
import { checkClosingRecord, checkCount, checkImprint, checkRoot, checkRows, createChainCheck } from './record-check.js';
import { t, tCount } from './words.js';

/** @typedef {import('./record-check.js').Shown} Shown */
/** @typedef {import('./proof/merkle-tree.js').MerkleTree} MerkleTree */

/** If there are more outputs than this, they are loaded only when the reader asks for it. Each has about 300 bytes. */
const mostUnasked = 10_000;
/** The work is done in slices of this length, so that the page can react between them. */
const sliceMs = 12;

/** Makes a URL relative to the host that served the page. @param {string} address */
const here = (address) => {
  const { pathname, search } = new URL(address, location.href);
  return pathname + search;
};

/** Loads the outputs and walks their chain. @param {Shown} shown @param {(text: string) => void} progress */
async function walkChain(shown, progress) {
  const chain = createChainCheck(shown.briefingHash);
  let sliceEnd = performance.now() + sliceMs;
  for await (const outputs of loadOutputs(here(shown.outputsUrl), shown.total)) {
    for (const output of outputs) {
      chain.append(output);
      if (performance.now() < sliceEnd) continue;
      progress(t('Recomputing: {done} of {total} files …', { done: chain.tree.treeSize, total: shown.total }));
      await new Promise((resolve) => setTimeout(resolve));
      sliceEnd = performance.now() + sliceMs;
    }
    if (chain.fault) break;
  }
  return chain;
}

/**
 * Runs one step and shows its result in a sentence, also if data could not be loaded or judged. Returns the faults.
 *
 * @param {string} name
 * @param {() => Promise<{ faults: string[], done: string }>} work
 */
async function takeStep(name, work) {
  const text = made('p');
  const item = made('li', text);
  /** @param {string} iconName @param {(string | Node)[]} parts */
  const say = (iconName, ...parts) => {
    text.replaceChildren(made('strong', `${name}.`), ' ', ...parts);
    item.replaceChildren(icon(iconName), text);
  };
  find('#in-browser-proof .results').append(item);
  try {
    const { faults, done } = await work();
    item.classList.add(faults.length === 0 ? 'is-match' : 'is-other');
    say(faults.length === 0 ? 'check' : 'cross', faults.length === 0 ? done : faults.join(' '));
    return faults;
  } catch (error) {
    if (!(error instanceof LoadFault || error instanceof UnjudgedFault)) throw error;
    item.classList.add('is-unchecked');
    say('warning', ...worded('**Not checked:** {reason}.', { reason: error.message.replace(/\.$/, '') }));
    return [];
  }
}

/**
 * @param {string} what
 * @param {{ hash: string, stampedAt: string, evidenceUrl: string | null }} stamped
 */
const checkStamp = (what, stamped) =>
  takeStep(t('Time-stamp of the {what}', { what }), async () => {
    if (stamped.evidenceUrl === null) throw new LoadFault(t('a stamp of the mock provider has no token to check'));
    const evidence = await loadEvidence(here(stamped.evidenceUrl), t('its evidence record'));
    return {
      faults: checkImprint(evidence, stamped, what),
      done: t('Its token is for exactly this hash, and has the time that this page shows.'),
    };
  });

/** Runs all steps. Returns the faults, and the tree if the chain is correct. @param {Shown} shown @param {(text: string) => void} progress */
async function prove(shown, progress) {
  const { root, closingRecord, total, rows } = shown;
  /** @type {ReturnType<typeof createChainCheck> | undefined} */
  let chain;
  const faults = await takeStep(t('Chain'), async () => {
    chain = await walkChain(shown, progress);
    const links = tCount(
      total,
      'The chain hash of the file was recomputed, starting from the hash of the briefing.',
      '{count} chain hashes were recomputed, one after the other, starting from the hash of the briefing.',
    );
    return {
      faults: chain.fault ? [chain.fault] : checkCount(chain, shown),
      done: total === 0 ? t('There is no file to link.') : links,
    };
  });
  const tree = chain && !chain.fault ? chain.tree : undefined;
  if (tree && rows.length > 0) {
    const levels = Math.ceil(Math.log2(tree.treeSize));
    const path =
      levels === 0
        ? t('Its leaf is the root.')
        : tCount(
            levels,
            'A path of one hash leads from its leaf to the root.',
            'A path of up to {count} hashes leads from its leaf to the root.',
          );
    const done = `${t('Each fingerprint on this page is the published one with the same number.')} ${path}`;
    faults.push(...(await takeStep(t('Files'), async () => ({ faults: checkRows(tree, shown), done }))));
  }
  if (tree && root) {
    const done = t('Recomputed from all leaves, it is the same as on this page.');
    faults.push(...(await takeStep(t('Merkle root'), async () => ({ faults: checkRoot(tree, root.hash), done }))));
  }
  if (root) faults.push(...(await checkStamp(t('Merkle root'), root)));
  if (chain && closingRecord) {
    const walked = chain;
    const closed = await takeStep(t('Closing record'), async () => ({
      faults: checkClosingRecord(await loadClosingRecord(here(closingRecord.url)), shown, walked),
      done: t('Its SHA-256 is the same as on this page, and so are its workflow, tier, briefing, times, number of files, chain and root.'),
    }));
    faults.push(...closed);
  }
  if (closingRecord) faults.push(...(await checkStamp(t('closing record'), closingRecord)));
  return { tree, faults };
}

/** Shows the faults at the top of the page, and removes everything that the page stated as proved (V9). @param {string[]} faults */
function tellFaults(faults) {
  const article = find('.certificate');
  const title = made('h2', icon('cross'), t('Your browser finds that this record does not hold'));
  title.id = 'disproved';
  const more = faults.length > 20 ? [t('And {count} more.', { count: faults.length - 20 })] : [];
  const alarm = made(
    'section',
    title,
    made(
      'p',
      t(
        'It recomputed the record from the data published here, and found faults. The record proves nothing; the data below is shown as it was found.',
      ),
    ),
    made('ul', ...[...faults.slice(0, 20), ...more].map((fault) => made('li', fault))),
  );
  alarm.className = 'alarm failure';
  alarm.setAttribute('aria-labelledby', title.id);
  article.prepend(alarm);
  article.dataset.proof = 'broken';
  document.title = t('Record of an AI agent');
  for (const claim of article.querySelectorAll('.claim, .mark-qualified, .mark-not_qualified, .mark-test')) claim.remove();
  for (const name of /** @type {NodeListOf<HTMLElement>} */ (article.querySelectorAll('[data-unclaimed]'))) {
    name.textContent = name.dataset.unclaimed ?? '';
  }
  const state = find('p.state', article);
  state.className = 'state state-broken';
  state.replaceChildren(icon('cross'), made('strong', t('Does not hold')));
  announce(title.textContent ?? '');
}

/** Adds a line to what the service has checked, if the page claims it. @param {boolean} isWhole */
function tellSummary(isWhole) {
  const line = document.querySelector('.root .in-browser');
  if (!(line instanceof HTMLElement)) return;
  line.textContent = isWhole ? t('Your browser recomputed it too, with the same result.') : t('Your browser recomputed a part of it.');
  line.hidden = false;
}

/** If there are many outputs, waits until the reader wants to load them. @param {HTMLElement} section @param {Shown} shown */
async function askedFor(section, { total }) {
  if (total <= mostUnasked) return;
  const button = document.createElement('button');
  button.textContent = t('Recompute the record of all {total} files', { total });
  const size = Math.ceil((total * 300) / 1_000_000);
  find('.progress', section).replaceChildren(button, ` ${t('This loads about {size} MB.', { size })}`);
  await new Promise((resolve) => button.addEventListener('click', resolve, { once: true }));
}

/**
 * Recomputes the record and shows the result.
 *
 * @returns {Promise<MerkleTree | undefined>} the tree of all outputs, if the record is correct: questions about them are then answered offline
 */
export async function proveInBrowser() {
  const section = find('#in-browser-proof');
  /** @type {Shown} */
  const shown = JSON.parse(section.dataset.shown ?? '');
  section.hidden = false;
  const line = find('.progress', section);
  await askedFor(section, shown);
  line.textContent = t('Recomputing …');
  const { tree, faults } = await prove(shown, (text) => {
    line.textContent = text;
  });
  const isWhole = section.querySelector('.is-unchecked') === null;
  line.hidden = true;
  if (faults.length > 0) tellFaults(faults);
  else tellSummary(isWhole);
  section.dataset.state = faults.length > 0 ? 'broken' : isWhole ? 'proved' : 'partial';
  return faults.length > 0 ? undefined : tree;
}

/** Describes the path from an output to the root in words. @param {MerkleTree} tree @param {number} number */
export function pathWords(tree, number) {
  const hashes = tree.proveInclusion(number - 1, tree.treeSize).inclusionPath.length;
  const root = `${hexOf(tree.rootAt(tree.treeSize)).slice(0, 8)}…`;
  if (hashes === 0) return ` ${t('Its leaf is the root {root}.', { root })}`;
  return ` ${tCount(hashes, 'Its leaf and a path of {count} hash lead to the root {root}.', 'Its leaf and a path of {count} hashes lead to the root {root}.', { root })}`;
}
