import { expect, test } from 'vitest';
import { ZodError } from 'zod';
import { repliesIn, type SentReply, sentReplyOf, textOfReplies } from '../../../src/shared/queue/sent-reply.ts';
import { stampedReplyOf } from '../../../src/shared/queue/stamp-job.ts';
import { makeBatchedStamps } from '../../support/batched-stamps.ts';
import { createTsaLab } from '../../support/tsa-lab.ts';

const lab = createTsaLab();

test('S14: replies of batched stamps arrive with their evidence records, though the token of a batch travels once', () => {
  const [one, another] = [makeBatchedStamps(lab, 7, { algorithm: 'sha512' }), makeBatchedStamps(lab, 5)];
  const failed: SentReply = { outcome: 'failed', tokenId: 'x', code: 'provider_failed' };
  const output = { outputId: 'o', sequenceNumber: 3 };
  const stamps = [...one.stamps, ...another.stamps];
  const sent = [failed, ...stamps.map((stamp) => ({ ...sentReplyOf(stamp), output })), failed];
  const text = textOfReplies(sent);
  expect(repliesIn(text)).toEqual([failed, ...stamps.map((stamp) => ({ ...stampedReplyOf(stamp), output })), failed]);
  expect(text.split('"tst"')).toHaveLength(3);
  expect(text.length).toBeLessThan(stamps.reduce((sum, { proofs: [{ token }] }) => sum + token.length, 0) / 2);
});

test('S16: a batched stamp that was renewed meanwhile is sent with its whole record', () => {
  const { stamps, batch } = makeBatchedStamps(lab, 3);
  const [stamp] = stamps;
  const proof = stamp!.proofs[0];
  if (proof.kind !== 'leaf') throw new Error('not a leaf');
  const renewed = {
    ...stamp!,
    proofs: [{ ...proof, batch: { ...batch, renewals: [{ renewalId: 'r', path: [], tst: batch.tst }] } }] as const,
  };
  expect(sentReplyOf(renewed)).toEqual(stampedReplyOf(stamp!));
});

test('a text that is no reply is refused', () => {
  for (const text of ['null', '{}', '[{"outcome":"leaf"}]', '[7]']) expect(() => repliesIn(text)).toThrow(ZodError);
  const [stamp] = makeBatchedStamps(lab, 3).stamps;
  for (const hashes of ['', 'AA==', Buffer.alloc(33).toString('base64'), Buffer.alloc(95).toString('base64')]) {
    expect(() => repliesIn(JSON.stringify([{ ...sentReplyOf(stamp!), hashes }])), hashes).toThrow(ZodError);
  }
});
