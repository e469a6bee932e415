import { deserialize, serialize } from 'node:v8';
import { expect, test, vi } from 'vitest';
import { createStampMarks } from '../../../src/api/services/workflows/stamp-marks.ts';
import type { StoredStamp } from '../../../src/shared/store/stamps.ts';
import { makeBatchedStamps } from '../../support/batched-stamps.ts';
import { createRecordLab } from '../../support/record-lab.ts';

test('V9: a stamp is judged once while claim and record are the same, and anew where anything of them differs', async () => {
  const [stamp] = makeBatchedStamps(createRecordLab().tsa, 3).stamps;
  const judgeStamp = vi.fn(async () => ({ ok: false, code: 'record_mismatch' }) as const);
  const mark = createStampMarks({ judgeStamp });
  const { tokenId, imprint, proofs } = stamp!;
  const claim = { tokenId, hash: imprint.digest, stampedAt: proofs[0].issuedAt, provider: proofs[0].provider };
  const shown = await mark(claim, stamp!);
  expect(await mark({ ...claim }, { ...stamp! })).toEqual(shown);
  expect(judgeStamp).toHaveBeenCalledTimes(1);
  await mark({ ...claim, stampedAt: '2020-01-01T00:00:00Z' }, stamp!);
  const changed: StoredStamp = deserialize(serialize(stamp));
  const [proof] = changed.proofs;
  if (proof.kind === 'leaf') proof.batch.tst[0]! ^= 1;
  await mark(claim, changed);
  expect(judgeStamp).toHaveBeenCalledTimes(3);
  expect((await mark(claim, null)).verdict).toMatchObject({ kind: 'refused', reason: expect.stringContaining('unknown_token_id') });
});
