import { describe, expect, test } from 'vitest';
import { closingRecord } from '../../src/shared/contract/workflow-proof.ts';
import { canonicalTextOf, closingRecordOf, readClosingRecord } from '../../src/shared/proof/closing-record.js';

const record = closingRecordOf({
  workflowId: '01a202c0-9c61-7125-b2bd-9dd1c07b9678',
  tier: 'verified',
  briefingHash: 'aa'.repeat(32),
  createdAt: new Date('2026-11-22T09:00:00Z'),
  confirmedAt: undefined,
  completedAt: new Date('2026-11-22T10:00:00.5Z'),
  outputCount: 3,
  chainHash: 'bb'.repeat(32),
  merkleRoot: 'cc'.repeat(32),
  commitments: { email: 'dd'.repeat(32), agent: 'ee'.repeat(32) },
});
const text = canonicalTextOf(record);

describe('closing record (W18)', () => {
  test('is canonical JSON (RFC 8785) and reads back as the same record', () => {
    expect(text).toBe(
      `{"agent_commitment":"${'ee'.repeat(32)}","briefing_hash":"${'aa'.repeat(32)}","chain_hash":"${'bb'.repeat(32)}",` +
        `"completed_at":"2026-11-22T10:00:00.500Z","confirmed_at":null,"created_at":"2026-11-22T09:00:00.000Z",` +
        `"email_commitment":"${'dd'.repeat(32)}","format":"qstamp-closing-record/1","merkle_root":"${'cc'.repeat(32)}","output_count":3,` +
        '"tier":"verified","workflow_id":"01a202c0-9c61-7125-b2bd-9dd1c07b9678"}',
    );
    expect(readClosingRecord(text)).toEqual(record);
    const erased = { ...record, email_commitment: null, agent_commitment: null, confirmed_at: record.created_at };
    expect(readClosingRecord(canonicalTextOf(erased))).toEqual(erased);
  });

  const withMember = (name: string, value: unknown) => JSON.stringify({ ...record, [name]: value });
  test.each([
    ['no JSON', text.slice(1)],
    ['no object', 'null'],
    ['members in another order', JSON.stringify(record)],
    ['a blank', text.replace(',', ', ')],
    ['a line end', `${text}\n`],
    ['a member twice', text.replace('{', `{"agent_commitment":"${'00'.repeat(32)}",`)],
    ['a member more', text.replace('}', ',"x":1}')],
    ['another way to write a number', text.replace('"output_count":3', '"output_count":3.0')],
    ['an escape that is not needed', text.replace('verified', '\\u0076erified')],
  ])('is refused with %s', (_what, bent) => {
    expect(bent).not.toBe(text);
    expect(readClosingRecord(bent)).toBeUndefined();
  });

  test.each([
    ['format', 'qstamp-closing-record/2'],
    ['tier', 'basic'],
    ['workflow_id', 'a workflow'],
    ['briefing_hash', 'AA'.repeat(32)],
    ['chain_hash', 'aa'.repeat(31)],
    ['merkle_root', null],
    ['email_commitment', ''],
    ['agent_commitment', 1],
    ['created_at', null],
    ['created_at', '2026-11-22'],
    ['completed_at', '2026-02-30T10:00:00Z'],
    ['completed_at', '2026-11-22T10:00:00+01:00'],
    ['confirmed_at', 'yesterday'],
    ['output_count', -1],
    ['output_count', 1.5],
    ['output_count', '3'],
    ['output_count', undefined],
  ])('is refused with the %s %j, and the OpenAPI schema refuses it too', (name, value) => {
    const bent = JSON.parse(withMember(name, value)) as typeof record;
    expect(readClosingRecord(canonicalTextOf(bent))).toBeUndefined();
    expect(closingRecord.safeParse(bent).success).toBe(false);
    expect(closingRecord.safeParse(record).success).toBe(true);
  });
});
