// @ts-check
// Loads the published data of a workflow (W20) from the host that served the page. Its policy allows no other host.

import { t } from './words.js';

/** Some data could not be loaded. The message is a sentence that begins with the name of the data. */
export class LoadFault extends Error {}

const mostWaitSeconds = 90;
const mostTries = 5;

/**
 * @typedef {object} PublishedOutput
 * @property {number} sequence_number
 * @property {string} output_hash
 * @property {string} chain_hash
 */

/** @param {string} address @param {string} what */
async function load(address, what) {
  for (let tries = 1; ; tries += 1) {
    let answer;
    try {
      answer = await fetch(address, { headers: { accept: 'application/json, */*' } });
    } catch {
      throw new LoadFault(t('{what} could not be loaded: the service could not be reached', { what }));
    }
    if (answer.ok) return answer;
    const waitSeconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
    if (!(waitSeconds <= mostWaitSeconds) || tries === mostTries) {
      throw new LoadFault(t('{what} could not be loaded: the service answered {status}', { what, status: String(answer.status) }));
    }
    await new Promise((resolve) => setTimeout(resolve, waitSeconds * 1_000));
  }
}

/**
 * Loads the published outputs, page by page. The URL of the next page is made here, because the URL in the answer may name another host.
 *
 * @param {string} address the URL of the list
 * @param {number} total the expected number of outputs
 * @returns {AsyncGenerator<PublishedOutput[]>}
 * @throws {LoadFault}
 */
export async function* loadOutputs(address, total) {
  for (let first = 1; first === 1 || first <= total; ) {
    const what = total > 1_000 ? t('the list of files from number {first} on', { first }) : t('the list of files');
    const { outputs } = await (await load(`${address}?first=${first}`, what)).json();
    if (!Array.isArray(outputs)) throw new LoadFault(t('{what} could not be read', { what }));
    yield outputs;
    if (outputs.length === 0) return;
    first += outputs.length;
  }
}

/** Loads the closing record, byte for byte as stamped. @param {string} address @throws {LoadFault} */
export const loadClosingRecord = async (address) => new Uint8Array(await (await load(address, t('the closing record'))).arrayBuffer());

/** Loads the evidence record of a stamp. @param {string} address @param {string} what @throws {LoadFault} */
export const loadEvidence = async (address, what) => new Uint8Array(await (await load(address, what)).arrayBuffer());
