// @ts-check
// Sends requests from the API documents to the service that serves the page. The documents can be read without this script.
import { addCopyButtons } from './copy.js';
import { find } from './page-parts.js';

const mostShown = 100_000;

/** The URL for the request of a form, with its parameters. Empty query parameters are left out. @param {HTMLFormElement} form */
function addressOf(form) {
  const inputs = [...form.querySelectorAll('input')];
  const path = inputs
    .filter(({ dataset }) => dataset.place === 'path')
    .reduce((address, { name, value }) => address.replace(`{${name}}`, encodeURIComponent(value)), form.dataset.path ?? '');
  const query = inputs.filter(({ dataset, value }) => dataset.place === 'query' && value !== '').map(({ name, value }) => [name, value]);
  return query.length > 0 ? `${path}?${new URLSearchParams(query)}` : path;
}

/** @param {HTMLFormElement} form @returns {RequestInit} */
function requestOf(form) {
  const inputs = /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll('input[data-place="header"]'));
  const headers = new Headers([...inputs].filter(({ value }) => value !== '').map(({ name, value }) => [name, value]));
  const text = form.elements.namedItem('body');
  const method = form.dataset.method ?? 'GET';
  if (!(text instanceof HTMLTextAreaElement)) return { method, headers };
  headers.set('content-type', 'application/json');
  return { method, headers, body: text.value };
}

/**
 * The body of an answer as text: JSON with line breaks, other text unchanged, for other types only the number of bytes.
 *
 * @param {Response} response
 */
async function textOf(response) {
  const type = response.headers.get('content-type') ?? '';
  if (!/json|text/.test(type)) return `${(await response.arrayBuffer()).byteLength} bytes of ${type || 'nothing'}`;
  const text = (await response.text()).slice(0, mostShown);
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const shownHeaders = ['content-type', 'retry-after', 'ratelimit-remaining', 'etag', 'idempotent-replayed', 'x-request-id'];

/** @param {HTMLFormElement} form */
async function send(form) {
  const started = performance.now();
  const response = await fetch(addressOf(form), requestOf(form));
  const body = await textOf(response);
  const headers = shownHeaders.filter((name) => response.headers.has(name)).map((name) => `${name}: ${response.headers.get(name)}`);
  const took = Math.round(performance.now() - started);
  return [`${response.status} ${response.statusText} in ${took} ms`, ...headers, '', body].join('\n');
}

for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll('.operation form'))) {
  find('.try', form).hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const shown = document.createElement('pre');
    shown.tabIndex = 0;
    shown.setAttribute('aria-label', 'Answer');
    try {
      shown.textContent = await send(form);
    } catch (error) {
      shown.textContent = `The request could not be sent: ${error instanceof Error ? error.message : error}`;
    }
    find('output', form).replaceChildren(shown);
  });
}

addCopyButtons();

/** Opens the operation that the fragment of the URL names. */
function openLinked() {
  const linked = document.getElementById(location.hash.slice(1));
  if (linked instanceof HTMLDetailsElement) linked.open = true;
}
addEventListener('hashchange', openLinked);
openLinked();
