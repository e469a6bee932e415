// @ts-check
// Shows the result for an evidence bundle (W22): first the verdict, then the checked facts, the unchecked facts, and the place of each file in it.
import { isBundle, judgeBundleFile } from './bundle-check.js';
import { hashFile } from './hash-file.js';
import { minuteInWords } from './local-time.js';
import { addResult, announce, fillVerdict, find, linkTo, made, worded } from './page-parts.js';
import { bundleVerdictOf } from './proof/judge-bundle.js';
import { adviceWords, developmentSentence, fileWords, meaningPath, notQualifiedSentence } from './proof/verdict-words.js';
import { chosen, count, t, tCount } from './words.js';

/** @typedef {import('./bundle-check.js').BundleJudgement} BundleJudgement */

/** The first evidence bundle among some files; if there is none, the first zip file that cannot be read. @param {readonly File[]} files */
export async function findBundle(files) {
  let unread;
  for (const file of files) {
    const answer = await isBundle(file);
    if (answer) return file;
    if (answer === undefined) unread ??= file;
  }
  return unread;
}

/**
 * Judges a bundle, shows its verdict in `answer`, and shows the place of each other file in the bundle.
 *
 * @param {Element} answer
 * @param {File} bundle
 * @param {readonly import('./hash-file.js').Content[]} files
 */
export async function showBundle(answer, bundle, files) {
  answer.replaceChildren();
  const { item, name, say } = addResult(find('.results'), bundle);
  try {
    const hashes = new Map();
    for (const file of files) hashes.set(file, await hashFile(file, 'sha256', () => {}));
    const judged = await judgeBundleFile(bundle, new Set(hashes.values()), (done, total) => {
      if (done % 200 === 0)
        say('pending', ...worded('Checking {name} … file {done} of {total}', { name, done: count(done), total: count(total) }));
    });
    item.remove();
    if ('fault' in judged) answer.replaceChildren(brokenVerdict(judged.fault));
    else answer.replaceChildren(bundleVerdict(judged), bundleDetails(judged));
    announce(find('#verdict-title').textContent ?? '');
    for (const [file, hash] of hashes) tellFile(file, judged, hash);
  } catch {
    say(
      'warning',
      ...worded('**Not verified.** {name} could not be read, or its time-stamps could not be sent to us. Please try again.', { name }),
    );
  }
}

/** @param {{ name: string }} file @param {BundleJudgement | { fault: string }} judged @param {string} hash */
function tellFile(file, judged, hash) {
  const { say, name, tell } = addResult(find('.results'), file);
  if ('fault' in judged)
    return say('warning', ...worded('**Not compared.** {name}: the bundle is not valid, so it proves nothing.', { name }));
  const places = placeOf(judged, hash);
  if (places === undefined) return tell('refused', fileWords.notRecorded, { advice: t(adviceWords.original) });
  if (bundleVerdictOf(judged).verdict !== 'valid') return tell('not_proved', fileWords.notProved, { values: { places } });
  const proof = [`${t('It is {places}.', { places })} ${t('Its SHA-256 is {hash}.', { hash })}`];
  if (isForTrials(judged)) return tell('test', fileWords.recorded, { advice: t(adviceWords.trial), proof });
  if (!judged.found.get(hash)?.length) return tell('proved', fileWords.briefing, { advice: t(adviceWords.briefing), proof });
  return tell('proved', fileWords.unchanged, { values: { time: minuteInWords(timeOf(judged).toISOString()) }, proof });
}

/** The time of the stamped root of a bundle whose time-stamps were judged; without outputs, that of the closing record. @param {BundleJudgement} judgement */
const timeOf = ({ record, root, closing }) => /** @type {Date} */ ((record.output_count === 0 ? closing : root)?.stated?.genTime);

/** `2026-11-25 13:47:37 UTC`. @param {Date} time */
const shownTime = (time) => `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** The reason why a bundle is not proved: a code and a sentence. @param {BundleJudgement} judgement */
function reasonOf(judgement) {
  const { reason, missing } = bundleVerdictOf(judgement);
  return missing ? `no_token: The bundle has no time-stamp of ${missing}. Bundles of the mock provider have none.` : (reason ?? '');
}

/** A reason for programs, which is in English. @param {string} reason */
function reasonLine(reason) {
  const line = made('p', made('code', reason));
  line.lang = 'en';
  return line;
}

/** @param {Parameters<typeof fillVerdict>[1]['kind']} kind @param {string} title @param {Node[]} more */
function section(kind, title, ...more) {
  const whole = made('section');
  fillVerdict(whole, { kind, level: 'h2', title: [title], more }).id = 'verdict-title';
  whole.id = 'verdict';
  whole.setAttribute('aria-labelledby', 'verdict-title');
  return whole;
}

/** @param {(string | Node)[]} parts */
function sentence(...parts) {
  const element = made('p', ...parts);
  element.className = 'sentence';
  return element;
}

/** Whether the development TSA made a time-stamp of a bundle. @param {BundleJudgement} judgement */
const isForTrials = ({ root, closing }) => root?.isDevelopment === true || closing?.isDevelopment === true;

/** @param {string} fault a reason code and a sentence */
const brokenVerdict = (fault) =>
  section(
    'refused',
    t('This bundle is not valid'),
    sentence(t('It was changed, or it was never a valid bundle. It proves nothing.')),
    reasonLine(fault),
  );

/** @param {number} total of outputs */
function agreementOf(total) {
  if (total === 0) return t('Its closing record says that there is no file.');
  return tCount(
    total,
    'The recorded file and the closing record agree.',
    'The {count} recorded files, their order and the closing record agree.',
  );
}

/** @param {number} total of outputs @param {Node} time @param {string} whom */
function existenceOf(total, time, whom) {
  const values = { count: count(total), time, whom };
  if (total === 0) return worded('Its closing record, without files, existed no later than {time}, if you trust {whom}.', values);
  return worded(
    chosen(
      total,
      'The recorded file existed no later than {time}, if you trust {whom}.',
      'The {count} recorded files, in this order, existed no later than {time}, if you trust {whom}.',
    ),
    values,
  );
}

/** @param {BundleJudgement} judgement */
function bundleVerdict(judgement) {
  const { record, root, closing } = judgement;
  if (bundleVerdictOf(judgement).verdict !== 'valid') {
    return section(
      'not_proved',
      t('This bundle is not proved'),
      sentence(`${agreementOf(record.output_count)} ${t('The time is not proved here, for this reason:')}`),
      reasonLine(reasonOf(judgement)),
      ...(root && closing
        ? [made('p', t('It may be valid: verify.py in it, or qstamp verify, can check it with your own trust anchors.'))]
        : []),
    );
  }
  const at = made('strong', shownTime(timeOf(judgement)));
  const whom = root?.provider ? t('the provider {provider}', { provider: root.provider }) : t('its time-stamping authority');
  if (isForTrials(judgement)) {
    return section(
      'test',
      t('This bundle has development time-stamps'),
      sentence(`${t(developmentSentence)} ${t('It proves nothing to a third party.')}`),
      made('p', t('It says:'), ' ', ...existenceOf(record.output_count, at, whom)),
    );
  }
  return section(
    'proved',
    t('This bundle is valid'),
    sentence(...existenceOf(record.output_count, at, whom)),
    ...(root?.notQualified === undefined
      ? []
      : [made('p', `${t(notQualifiedSentence(root.notQualified))} `, linkTo(meaningPath, t('What this means')))]),
  );
}

/** Shows the contents of the closing record, and the checked and unchecked facts. @param {BundleJudgement & { notes: readonly string[] }} judgement */
function bundleDetails({ record, root, closing, own, notes }) {
  const title = made('h2', t('What was checked'));
  title.id = 'bundle-details';
  const values = {
    workflow: record.workflow_id,
    tier: record.tier,
    started: shownTime(new Date(record.created_at)),
    confirmed: record.confirmed_at === null ? '' : shownTime(new Date(record.confirmed_at)),
    completed: shownTime(new Date(record.completed_at)),
  };
  const checked = [
    t('Your browser recomputed the chain, the Merkle tree, each inclusion proof, and every hash in SHA256SUMS.'),
    ...(root || closing
      ? [
          t(
            'We verified the time-stamps of the Merkle root and of the closing record, with the revocation lists in the bundle. Nothing else was sent to us.',
          ),
        ]
      : []),
    record.confirmed_at === null
      ? t(
          'The closing record says: workflow {workflow}, tier {tier}, started {started}, e-mail address not confirmed, completed {completed}.',
          values,
        )
      : t(
          'The closing record says: workflow {workflow}, tier {tier}, started {started}, e-mail address confirmed {confirmed}, completed {completed}.',
          values,
        ),
  ];
  const stamped = own.valid + own.notProved;
  const open = [
    ...(stamped > 0
      ? [t('the signers of the files’ own time-stamps ({count}): we checked only that they are for these files', { count: stamped })]
      : []),
    ...(own.none > 0
      ? [
          tCount(
            own.none,
            'own time-stamps of {count} file: there is none in this bundle',
            'own time-stamps of {count} files: there is none in this bundle',
          ),
        ]
      : []),
    ...new Set([root, closing].flatMap((seal) => seal?.notChecked ?? [])),
    t('the certificates in the bundle: we used our own'),
    ...notes,
    t('types of files, stamp ids, README.txt and verify.py: no signature covers them'),
  ];
  const whole = made(
    'section',
    title,
    ...checked.map((text) => made('p', text)),
    made('p', t('Not checked:')),
    made('ul', ...open.map((text) => made('li', text))),
  );
  whole.setAttribute('aria-labelledby', title.id);
  return whole;
}

/**
 * The place of a file in a bundle, in words; undefined if the file is not in it.
 *
 * @param {BundleJudgement} judgement
 * @param {string} sha256 lower-case hex
 */
function placeOf({ record, found }, sha256) {
  const numbers = (found.get(sha256) ?? []).map(({ sequenceNumber }) => sequenceNumber);
  const places = [
    ...(numbers.length > 0
      ? [tCount(numbers.length, 'file {numbers}', 'files {numbers}', { numbers: numbers.slice(0, 100).join(', ') })]
      : []),
    ...(record.briefing_hash === sha256 ? [t('the briefing, as the record says')] : []),
  ];
  return places.length > 0 ? places.join(t(', and ')) : undefined;
}
