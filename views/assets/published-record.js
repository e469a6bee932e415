// @ts-check
// What a workflow publishes (W18, W20, W21), loaded from the host that served the page: its policy allows no other.

/** What could not be loaded, in a sentence without its subject. */
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
      throw new LoadFault(`${what} could not be loaded: the service was not reached`);
    }
    if (answer.ok) return answer;
    const waitSeconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
    if (!(waitSeconds <= mostWaitSeconds) || tries === mostTries) {
      throw new LoadFault(`${what} could not be loaded: the service answered ${answer.status}`);
    }
    await new Promise((resolve) => setTimeout(resolve, waitSeconds * 1_000));
  }
}

/**
 * The outputs page by page, as they are published (W20). The address of the next page is made here: the one in the answer may name another host.
 *
 * @param {string} address of the first page
 * @param {number} total how many there should be
 * @returns {AsyncGenerator<PublishedOutput[]>}
 * @throws {LoadFault}
 */
export async function* loadOutputs(address, total) {
  for (let first = 1; first === 1 || first <= total; ) {
    const what = total > 1_000 ? `the outputs from number ${first} on` : 'the outputs';
    const { outputs } = await (await load(`${address}?first=${first}`, what)).json();
    if (!Array.isArray(outputs)) throw new LoadFault(`${what} could not be read`);
    yield outputs;
    if (outputs.length === 0) return;
    first += outputs.length;
  }
}

/** The closing record, octet for octet as it was stamped. @param {string} address @throws {LoadFault} */
export const loadClosingRecord = async (address) => new Uint8Array(await (await load(address, 'the closing record')).arrayBuffer());

/** The evidence record over a stamp. @param {string} address @param {string} what @throws {LoadFault} */
export const loadEvidence = async (address, what) => new Uint8Array(await (await load(address, what)).arrayBuffer());
