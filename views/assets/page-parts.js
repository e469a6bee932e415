// @ts-check
// Small parts of a page that scripts create. They look like the parts that the templates make.
import { t, translated } from './words.js';

/** An element that the template must contain. @param {string} selector @param {ParentNode} [within] @returns {HTMLElement} */
export function find(selector, within = document) {
  const element = within.querySelector(selector);
  if (!(element instanceof HTMLElement)) throw new Error(`the page lacks ${selector}`);
  return element;
}

/** @param {string} name */
export function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
  use.setAttribute('href', `#icon-${name}`);
  svg.append(use);
  return svg;
}

/** @param {string} tag @param {(string | Node)[]} parts */
export function made(tag, ...parts) {
  const element = document.createElement(tag);
  element.append(...parts);
  return element;
}

/** @param {string} address @param {string} text */
export function linkTo(address, text) {
  const link = made('a', text);
  link.setAttribute('href', address);
  return link;
}

/**
 * The nodes of a sentence in the language of the page, with named values, such as `Yes: {file} is unchanged.`
 *
 * @param {string} text @param {Readonly<Record<string, string | Node | readonly (string | Node)[]>>} values
 * @returns {(string | Node)[]}
 */
export const worded = (text, values) =>
  translated(text)
    .split(/\*\*(.+?)\*\*/)
    .flatMap((words, i) => {
      const nodes = words.split(/\{(\w+)\}/).flatMap((part, j) => (j % 2 === 0 ? part : (values[part] ?? '')));
      return i % 2 === 0 ? nodes : [made('strong', ...nodes)];
    });

const verdictIcons = { proved: 'check', refused: 'cross', not_proved: 'warning', test: 'warning', other: 'other' };

/**
 * Fills an element with a verdict: a headline, sentences below it, and a proof that the reader can open. Files and bundles have the same form.
 *
 * @param {HTMLElement} element
 * @param {{ kind: keyof typeof verdictIcons, level?: string, title: (string | Node)[], more?: Node[], proof?: (string | Node)[] }} verdict
 */
export function fillVerdict(element, { kind, level = 'h3', title, more = [], proof = [] }) {
  element.className = `verdict verdict-${kind}`;
  const heading = made(level, icon(verdictIcons[kind]), made('span', ...title));
  element.replaceChildren(heading, ...more);
  if (proof.length > 0) element.append(made('details', made('summary', t('The proof')), made('p', ...proof)));
  return heading;
}

/** Lets a screen reader read a text. @param {string} text */
export function announce(text) {
  find('#announcements').textContent = text;
}

/**
 * Adds an item about one file to the list of results. `say` shows one sentence; `tell` shows a verdict, whose sentence has the value `file`.
 *
 * @param {HTMLElement} results
 * @param {{ name: string }} file
 */
export function addResult(results, file) {
  const item = document.createElement('li');
  const name = made('span', file.name);
  name.className = 'name';
  /** @param {string} iconName @param {(string | Node)[]} parts */
  const say = (iconName, ...parts) => item.replaceChildren(icon(iconName), made('p', ...parts));
  /** @param {Parameters<typeof fillVerdict>[1]['kind']} kind @param {string} text @param {{ values?: Parameters<typeof worded>[1], advice?: string | Node, proof?: (string | Node)[] }} [more] */
  const tell = (kind, text, { values = {}, advice, proof } = {}) => {
    fillVerdict(item, {
      kind,
      title: worded(text, { file: name, ...values }),
      more: advice ? [made('p', advice)] : [],
      ...(proof && { proof }),
    });
  };
  say('pending', ...worded('Reading {name} …', { name }));
  results.append(item);
  return {
    item,
    name,
    say,
    tell,
    progress: (/** @type {number} */ percent) =>
      say('pending', ...worded('Reading {name} … {percent} %', { name, percent: String(percent) })),
  };
}

/** The link to the page for stamps and bundles. */
export const verifyLink = () => linkTo('/verify', t('Check it on the page Verify, with its own file.'));
