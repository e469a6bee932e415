import { deserialize, serialize } from 'node:v8';
import { expect, test, vi } from 'vitest';
import type { StampVerdict } from '../../../src/api/verification/stamp-judge.ts';
import { rememberMarks } from '../../../src/api/workflows/workflow-tools.ts';
import type { StoredStamp } from '../../../src/shared/store/stamps.ts';
import { makeBatchedStamps } from '../../support/batched-stamps.ts';
import { createRecordLab } from '../../support/record-lab.ts';

test('V9: a proved stamp is not judged again while claim and record are unchanged', async () => {
  const [stamp] = makeBatchedStamps(createRecordLab().tsa, 3).stamps;
  const { tokenId, imprint, proofs } = stamp!;
  const claim = { tokenId, hash: imprint.digest, stampedAt: proofs[0].issuedAt, provider: proofs[0].provider };
  let verdict: StampVerdict = { kind: 'refused', reason: 'certificate_revoked' };
  const judged = vi.fn(async () => ({ ...claim, isQualified: false, qualification: null, verifyUrl: '', verdict }));
  const mark = rememberMarks(judged);
  await mark(claim, stamp!);
  verdict = { kind: 'proved' };
  expect((await mark(claim, stamp!)).verdict, 'a refusal is not remembered').toEqual(verdict);
  expect((await mark({ ...claim }, { ...stamp! })).verdict).toEqual(verdict);
  expect(judged).toHaveBeenCalledTimes(2);
  await mark({ ...claim, stampedAt: '2020-01-01T00:00:00Z' }, stamp!);
  const changed: StoredStamp = deserialize(serialize(stamp));
  const [proof] = changed.proofs;
  if (proof.kind === 'leaf') proof.batch.tst[0]! ^= 1;
  await mark(claim, changed);
  expect(judged).toHaveBeenCalledTimes(4);
});
