// @ts-check
// Small parts of a page that scripts create. They look like the parts that the templates make.

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

/** Writes a number like `2,000`; with a noun like `1 output`, `2,000 outputs`. @param {number} number @param {string} [noun] */
export const count = (number, noun) => `${number.toLocaleString('en-GB')}${noun ? ` ${noun}${number === 1 ? '' : 's'}` : ''}`;

/** @param {string} tag @param {(string | Node)[]} parts */
export function made(tag, ...parts) {
  const element = document.createElement(tag);
  element.append(...parts);
  return element;
}

/** @param {string} text */
export function bold(text) {
  const element = document.createElement('strong');
  element.textContent = text;
  return element;
}

/** Lets a screen reader read a text. @param {string} text */
export function announce(text) {
  find('#announcements').textContent = text;
}

/**
 * Adds a line about one file to the list of results. The returned `say` replaces its icon and its text, which may contain the element `name`.
 *
 * @param {HTMLElement} results
 * @param {{ name: string }} file
 */
export function addResult(results, file) {
  const item = document.createElement('li');
  const text = document.createElement('p');
  const name = document.createElement('span');
  name.className = 'name';
  name.textContent = file.name;
  /** @param {string} iconName @param {(string | Node)[]} parts */
  const say = (iconName, ...parts) => {
    text.replaceChildren(...parts);
    item.replaceChildren(icon(iconName), text);
  };
  say('pending', 'Reading ', name, ' …');
  results.append(item);
  return { item, name, say, progress: (/** @type {number} */ percent) => say('pending', 'Reading ', name, ` … ${percent} %`) };
}
