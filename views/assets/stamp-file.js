// @ts-check
/** Tells stamps from other files by their names, and takes the token out of them. */

/** Formats that hold stamps and that this service cannot read yet. The one place that says so. */
const unreadable = { '.asics': 'an ASiC-S container' };
const binary = ['.tsr', '.tst', '.ers'];
const record = '.qstamp.json';
/** A record of ours and a token are a few kilobytes; a file that is larger is none. */
const maxBytes = 1_000_000;

/** @param {string} name @param {string[]} endings */
const endingOf = (name, endings) => endings.find((ending) => name.toLowerCase().endsWith(ending));

/** @param {File} file */
export const isStampFile = (file) => endingOf(file.name, [record, ...binary, ...Object.keys(unreadable)]) !== undefined;

/** @param {Uint8Array} bytes */
const base64Of = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));

/**
 * The token in a stamp file, base64, or a sentence that says why there is none.
 *
 * @param {File} file
 * @returns {Promise<{ token: string } | { problem: string }>}
 */
export async function readStampFile(file) {
  const format = endingOf(file.name, Object.keys(unreadable));
  if (format !== undefined) {
    return {
      problem: `is ${unreadable[/** @type {keyof typeof unreadable} */ (format)]}, which this service cannot read yet. DSS and digidoc4j can.`,
    };
  }
  if (file.size > maxBytes) return { problem: 'is too large to be a stamp.' };
  if (endingOf(file.name, binary)) return { token: base64Of(new Uint8Array(await file.arrayBuffer())) };
  try {
    const { stamp, output } = JSON.parse(await file.text());
    const token = stamp?.token ?? output?.token;
    if (typeof token === 'string') return { token };
    return { problem: 'holds no token: open the address in it that is called verify_url.' };
  } catch {
    return { problem: 'is no record of a stamp: it is not JSON.' };
  }
}
