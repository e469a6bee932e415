import { expect, test } from 'vitest';
import { stampedReplyOf } from '../../../src/shared/queue/jobs.ts';
import { repliesIn, textOfReplies, type WorkerReply, workerReplyOf } from '../../../src/shared/queue/replies.ts';
import { makeBatchedStamps } from '../../support/batched-stamps.ts';
import { createTsaLab } from '../../support/tsa-lab.ts';

const lab = createTsaLab();

test('S14: replies of batched stamps include their evidence records, although each batch token is sent once', () => {
  const [one, another] = [makeBatchedStamps(lab, 7, { algorithm: 'sha512' }), makeBatchedStamps(lab, 5)];
  const failed: WorkerReply = { outcome: 'failed', tokenId: 'x', code: 'provider_failed' };
  const output = { outputId: 'o', sequenceNumber: 3, chainHash: 'c' };
  const [first, ...rest] = one.stamps;
  const stamps = [first!, ...another.stamps, ...rest];
  const withOutput = <Reply extends object>(reply: Reply, index: number) => (index % 2 === 0 ? { ...reply, output } : reply);
  const text = textOfReplies([failed, ...stamps.map((stamp, index) => withOutput(workerReplyOf(stamp), index))]);
  expect(repliesIn(text)).toEqual([failed, ...stamps.map((stamp, index) => withOutput(stampedReplyOf(stamp), index))]);
  expect(text.length).toBeLessThan(stamps.reduce((sum, { proofs: [{ token }] }) => sum + token.length, 0) / 2);
});

test('S16: a batched stamp that was renewed meanwhile is sent with its full record', () => {
  const { stamps, batch } = makeBatchedStamps(lab, 3);
  const proof = stamps[0]!.proofs[0];
  if (proof.kind !== 'leaf') throw new Error('not a leaf');
  const renewals = [{ renewalId: 'r', path: [], tst: batch.tst }];
  expect(workerReplyOf({ ...stamps[0]!, proofs: [{ ...proof, batch: { ...batch, renewals } }] })).toEqual(stampedReplyOf(stamps[0]!));
});

test('a text that is not a reply is refused', () => {
  const sent = JSON.parse(textOfReplies(makeBatchedStamps(lab, 3).stamps.map(workerReplyOf)));
  expect(repliesIn(JSON.stringify(sent))).toHaveLength(3);
  const [leaf] = sent.replies;
  for (const fault of [
    null,
    [leaf],
    {},
    { ...sent, batches: [] },
    { ...sent, replies: [{ ...leaf, batch: 1 }] },
    { ...sent, replies: [{ ...leaf, outcome: 'leaves' }] },
  ])
    expect(() => repliesIn(JSON.stringify(fault)), JSON.stringify(fault).slice(0, 200)).toThrow();
});
