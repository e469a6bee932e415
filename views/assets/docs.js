// Sends the requests of the API documents from the page itself, to the service that serves it. The documents can be read without it.

const mostShown = 100_000;

/** The address of a form, its parameters filled in; an empty one of the query is left out. */
function addressOf(form) {
  const inputs = [...form.querySelectorAll('input')];
  const path = inputs
    .filter(({ dataset }) => dataset.place === 'path')
    .reduce((address, { name, value }) => address.replace(`{${name}}`, encodeURIComponent(value)), form.dataset.path);
  const query = inputs.filter(({ dataset, value }) => dataset.place === 'query' && value !== '').map(({ name, value }) => [name, value]);
  return query.length > 0 ? `${path}?${new URLSearchParams(query)}` : path;
}

function requestOf(form) {
  const headers = [...form.querySelectorAll('input[data-place="header"]')]
    .filter(({ value }) => value !== '')
    .map(({ name, value }) => [name, value]);
  const body = form.elements.namedItem('body')?.value;
  if (body !== undefined) headers.push(['content-type', 'application/json']);
  return { method: form.dataset.method, headers, body };
}

/** JSON in lines, other text as it is, bytes by their number only. */
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

async function send(form) {
  const started = performance.now();
  const response = await fetch(addressOf(form), requestOf(form));
  const body = await textOf(response);
  const headers = shownHeaders.filter((name) => response.headers.has(name)).map((name) => `${name}: ${response.headers.get(name)}`);
  const took = Math.round(performance.now() - started);
  return [`${response.status} ${response.statusText} in ${took} ms`, ...headers, '', body].join('\n');
}

for (const form of document.querySelectorAll('.operation form')) {
  form.querySelector('.try').hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const output = form.querySelector('output');
    const shown = document.createElement('pre');
    shown.tabIndex = 0;
    shown.setAttribute('aria-label', 'Answer');
    try {
      shown.textContent = await send(form);
    } catch (error) {
      shown.textContent = `The request could not be sent: ${error.message}`;
    }
    output.replaceChildren(shown);
  });
}

/** A link to one operation opens it. */
function openLinked() {
  const linked = document.getElementById(location.hash.slice(1));
  if (linked instanceof HTMLDetailsElement) linked.open = true;
}
addEventListener('hashchange', openLinked);
openLinked();
