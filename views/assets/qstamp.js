// The one script of the pages: copy buttons, and files compared without leaving the browser. Every page works without it.

// SHA-256 (FIPS 180-4), fed piece by piece: a file of any size in constant memory. `crypto.subtle` wants the file whole, and HTTPS.

// FIPS 180-4 §5.3.3 and §4.2.2.
const initialState = new Int32Array([0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19]);
const roundConstants = new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
  0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
  0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
  0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
  0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
  0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
]);

/** Takes bytes by `update` and gives the SHA-256 of all of them, lower-case hex, by `digest`, once. */
export function createSha256() {
  const state = initialState.slice();
  const words = new Int32Array(64);
  const block = new Uint8Array(64);
  let blockLength = 0;
  let totalBytes = 0;

  function compress(bytes, offset) {
    for (let i = 0; i < 16; i += 1) {
      const at = offset + i * 4;
      words[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    }
    for (let i = 16; i < 64; i += 1) {
      const early = words[i - 15];
      const late = words[i - 2];
      const s0 = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3);
      const s1 = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10);
      words[i] = (words[i - 16] + s0 + words[i - 7] + s1) | 0;
    }
    let a = state[0];
    let b = state[1];
    let c = state[2];
    let d = state[3];
    let e = state[4];
    let f = state[5];
    let g = state[6];
    let h = state[7];
    for (let i = 0; i < 64; i += 1) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + roundConstants[i] + words[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }

  function update(bytes) {
    totalBytes += bytes.length;
    let offset = 0;
    if (blockLength > 0) {
      const taken = Math.min(64 - blockLength, bytes.length);
      block.set(bytes.subarray(0, taken), blockLength);
      blockLength += taken;
      offset = taken;
      if (blockLength < 64) return;
      compress(block, 0);
      blockLength = 0;
    }
    for (; offset + 64 <= bytes.length; offset += 64) compress(bytes, offset);
    block.set(bytes.subarray(offset));
    blockLength = bytes.length - offset;
  }

  function digest() {
    const padding = new Uint8Array(blockLength < 56 ? 64 - blockLength : 128 - blockLength);
    padding[0] = 0x80;
    // The length in bits is a 64-bit number; JavaScript's own are exact up to 2^53 bytes.
    const lengthField = new DataView(padding.buffer, padding.length - 8);
    lengthField.setUint32(0, Math.floor(totalBytes / 2 ** 29));
    lengthField.setUint32(4, (totalBytes % 2 ** 29) * 8);
    update(padding);
    return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
  }

  return { update, digest };
}

const announce = (text) => {
  document.querySelector('#announcements').textContent = text;
};

function addCopyButtons() {
  if (!navigator.clipboard) return;
  for (const cell of document.querySelectorAll('[data-copy]')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.setAttribute('aria-label', `Copy ${cell.dataset.copyName}`);
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(cell.dataset.copy);
        button.textContent = 'Copied';
        announce(`Copied ${cell.dataset.copyName}`);
      } catch {
        button.textContent = 'Not allowed';
        announce('The browser did not allow copying');
      }
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 2000);
    });
    cell.append(' ', button);
  }
}

async function hashFile(file, onProgress) {
  const sha256 = createSha256();
  const reader = file.stream().getReader();
  let read = 0;
  let shown = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return sha256.digest();
    sha256.update(value);
    read += value.length;
    const percent = Math.floor((read / file.size) * 100);
    if (percent >= shown + 5) {
      shown = percent;
      onProgress(percent);
      // Lets the page answer while a large file is read.
      await new Promise((resolve) => setTimeout(resolve));
    }
  }
}

/** The numbers of the outputs with a hash: on this page, else, when there are more pages, as the service finds them by the hash alone. */
async function findOutputs(hash) {
  const onPage = [...document.querySelectorAll(`tr[data-hash="${hash}"]`)].map((row) => row.dataset.number);
  const { outputs, pageSize } = document.querySelector('.certificate').dataset;
  if (onPage.length > 0 || Number(outputs) <= Number(pageSize)) return onPage;
  const answer = await fetch(`${location.pathname}?find=${hash}`);
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  return page.querySelector('[data-found]').dataset.found.split(' ').filter(Boolean);
}

function linkTo(number) {
  const { page, pageSize } = document.querySelector('.certificate').dataset;
  const itsPage = Math.ceil(number / pageSize);
  const link = document.createElement('a');
  link.href = itsPage === Number(page) ? `#output-${number}` : `?page=${itsPage}#output-${number}`;
  link.textContent = `output ${number}`;
  return link;
}

const icon = (name) => {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  svg.append(document.createElementNS('http://www.w3.org/2000/svg', 'use'));
  svg.firstChild.setAttribute('href', `#icon-${name}`);
  return svg;
};

const bold = (text) => {
  const element = document.createElement('strong');
  element.textContent = text;
  return element;
};

async function compareFile(file, results) {
  const item = document.createElement('li');
  const text = document.createElement('p');
  const name = document.createElement('span');
  name.className = 'name';
  name.textContent = file.name;
  const say = (iconName, ...parts) => {
    text.replaceChildren(...parts);
    item.replaceChildren(icon(iconName), text);
  };
  say('pending', 'Reading ', name, ' …');
  results.append(item);
  try {
    const hash = await hashFile(file, (percent) => text.replaceChildren('Reading ', name, ` … ${percent} %`));
    item.dataset.hash = hash;
    const numbers = await findOutputs(hash);
    const links = numbers.flatMap((number, i) => [i > 0 ? ', ' : '', linkTo(number)]);
    item.classList.toggle('is-match', numbers.length > 0);
    if (numbers.length > 0) say('check', bold('Match.'), ' ', name, ' is ', ...links, '.');
    else say('cross', bold('No match.'), ' ', name, ' is none of these outputs. Its SHA-256 is ', hash, '.');
    for (const row of document.querySelectorAll(`tr[data-hash="${hash}"]`)) row.classList.add('match');
  } catch {
    say('warning', bold('Not compared.'), ' ', name, ' could not be read or compared. Please try again.');
  }
}

function openDropZone() {
  const zone = document.querySelector('.drop');
  if (!zone) return;
  const input = zone.querySelector('input');
  const results = document.querySelector('.results');
  const compareAll = async (files) => {
    for (const row of document.querySelectorAll('tr.match')) row.classList.remove('match');
    results.replaceChildren();
    for (const file of files) await compareFile(file, results);
  };
  zone.hidden = false;
  input.addEventListener('change', () => compareAll([...input.files]));
  zone.addEventListener('dragleave', () => zone.classList.remove('over'));
  zone.addEventListener('dragenter', () => zone.classList.add('over'));
  // A file dropped beside the zone would replace the page.
  document.addEventListener('dragover', (event) => event.preventDefault());
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    zone.classList.remove('over');
    if (event.dataTransfer.files.length > 0) compareAll([...event.dataTransfer.files]);
  });
}

/** An anchor of an output on another page leads there: the server never sees the part behind `#`. */
function followAnchor() {
  const number = Number(/^#output-(\d+)$/.exec(location.hash)?.[1]);
  const { outputs, page, pageSize } = document.querySelector('.certificate').dataset;
  if (!number || number > Number(outputs)) return;
  const itsPage = Math.ceil(number / pageSize);
  if (itsPage !== Number(page)) location.replace(`?page=${itsPage}#output-${number}`);
}

if (typeof document !== 'undefined') {
  followAnchor();
  addEventListener('hashchange', followAnchor);
  addCopyButtons();
  openDropZone();
}
