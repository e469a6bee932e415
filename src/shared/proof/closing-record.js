// @ts-check
// The closing record of a workflow (W18), which is stamped in addition to the root. It is hashed and stamped as canonical JSON (RFC 8785) without a
// line end. A reader that does not know the format must not guess, so every member and its form is checked.
import { isLowerSha256 } from './octets.js';

/**
 * The members of a closing record. All hashes are SHA-256 in lower-case hex; all times are RFC 3339 in UTC.
 *
 * @typedef {object} ClosingRecord
 * @property {'qstamp-closing-record/1'} format
 * @property {string} workflow_id UUID
 * @property {'standard' | 'verified' | 'qualified'} tier
 * @property {string} briefing_hash
 * @property {string} created_at
 * @property {string | null} confirmed_at when the e-mail address was confirmed
 * @property {string} completed_at when the root was stamped
 * @property {number} output_count
 * @property {string} chain_hash the chain hash of the last output; the briefing hash if there is no output
 * @property {string} merkle_root
 * @property {string | null} email_commitment SHA-256(salt ‖ e-mail address); null if the address was erased before completion
 * @property {string | null} agent_commitment SHA-256(salt ‖ agent id); null if the id was erased before completion
 */

/**
 * The data from which a closing record is made.
 *
 * @typedef {object} ClosingFacts
 * @property {string} workflowId
 * @property {ClosingRecord['tier']} tier
 * @property {string} briefingHash
 * @property {Date} createdAt
 * @property {Date | undefined} confirmedAt
 * @property {Date} completedAt
 * @property {number} outputCount
 * @property {string} chainHash
 * @property {string} merkleRoot
 * @property {{ readonly email: string, readonly agent: string } | undefined} commitments
 */

/** @param {ClosingFacts} facts @returns {ClosingRecord} */
export const closingRecordOf = (facts) => ({
  format: 'qstamp-closing-record/1',
  workflow_id: facts.workflowId,
  tier: facts.tier,
  briefing_hash: facts.briefingHash,
  created_at: facts.createdAt.toISOString(),
  confirmed_at: facts.confirmedAt?.toISOString() ?? null,
  completed_at: facts.completedAt.toISOString(),
  output_count: facts.outputCount,
  chain_hash: facts.chainHash,
  merkle_root: facts.merkleRoot,
  email_commitment: facts.commitments?.email ?? null,
  agent_commitment: facts.commitments?.agent ?? null,
});

/** @param {unknown} value */
const isUuid = (value) => typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);

/** @param {unknown} value */
function isTime(value) {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)) return false;
  const time = new Date(value);
  // JavaScript turns a date that does not exist into a date of the next month.
  return !Number.isNaN(time.getTime()) && time.toISOString() === value;
}

/** @param {(value: unknown) => boolean} hasForm @returns {(value: unknown) => boolean} */
const orNull = (hasForm) => (value) => value === null || hasForm(value);

/** For each member, a function that checks its form. @type {Record<keyof ClosingRecord, (value: unknown) => boolean>} */
const forms = {
  agent_commitment: orNull(isLowerSha256),
  briefing_hash: isLowerSha256,
  chain_hash: isLowerSha256,
  completed_at: isTime,
  confirmed_at: orNull(isTime),
  created_at: isTime,
  email_commitment: orNull(isLowerSha256),
  format: (value) => value === 'qstamp-closing-record/1',
  merkle_root: isLowerSha256,
  output_count: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  tier: (value) => value === 'standard' || value === 'verified' || value === 'qualified',
  workflow_id: isUuid,
};
const members = /** @type {(keyof ClosingRecord)[]} */ (Object.keys(forms)).sort();

/** Returns the text that is hashed and stamped. Canonical JSON sorts members by name (RFC 8785 §3.2.3). @param {ClosingRecord} record */
export const canonicalTextOf = (record) => JSON.stringify(Object.fromEntries(members.map((name) => [name, record[name]])));

/** Parses a closing record. Returns undefined for any other text, and if the form is not canonical. @param {string} text @returns {ClosingRecord | undefined} */
export function readClosingRecord(text) {
  let record;
  try {
    record = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof record !== 'object' || record === null) return undefined;
  // If the text has a duplicate or unknown member, it differs from the canonical text.
  return members.every((name) => forms[name](record[name])) && canonicalTextOf(record) === text ? record : undefined;
}
