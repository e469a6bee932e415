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
  const withOutput = <Reply extends object>(reply: Reply, index: number) => (index % 2 === 0 ? { ...reply, output } : reply);
  const sent = [failed, ...stamps.map((stamp, index) => withOutput(sentReplyOf(stamp), index)), failed];
  const text = textOfReplies(sent);
  expect(repliesIn(text)).toEqual([failed, ...stamps.map((stamp, index) => withOutput(stampedReplyOf(stamp), index)), failed]);
  expect(text.split('"tst"')).toHaveLength(3);
  expect(text.length).toBeLessThan(stamps.reduce((sum, { proofs: [{ token }] }) => sum + token.length, 0) / 2);
});

test('S14: each of several batches, and each algorithm, has a token of its own', () => {
  const [one, another, third] = [makeBatchedStamps(lab, 3), makeBatchedStamps(lab, 2), makeBatchedStamps(lab, 2, { algorithm: 'sha512' })];
  const [first, ...rest] = one.stamps;
  const stamps = [first!, ...another.stamps, ...rest, ...third.stamps];
  expect(repliesIn(textOfReplies(stamps.map(sentReplyOf)))).toEqual(stamps.map(stampedReplyOf));
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
  for (const text of ['null', '{}', '[{"outcome":"leaves"}]', '[7]']) expect(() => repliesIn(text)).toThrow(ZodError);
  const { stamps } = makeBatchedStamps(lab, 3);
  const [sent] = JSON.parse(textOfReplies(stamps.map(sentReplyOf)));
  expect(repliesIn(JSON.stringify([sent]))).toHaveLength(3);
  const hashes = Buffer.from(sent.hashes, 'base64');
  const faults = [
    ...[hashes.subarray(1), hashes.subarray(32), Buffer.concat([hashes, Buffer.alloc(32)]), Buffer.alloc(0)].map((octets) => ({
      hashes: octets.toString('base64'),
    })),
    { counts: sent.counts.slice(1) },
    { counts: [...sent.counts.slice(1), 0] },
    { tokenIds: sent.tokenIds.slice(1) },
    { outputs: [null] },
    { hashes: `${sent.hashes.slice(0, 40)}    ${sent.hashes.slice(44)}` },
    { hashes: `${sent.hashes.slice(0, 40)}====${sent.hashes.slice(44)}` },
    { tst: '' },
    { tst: '!!' },
  ];
  for (const fault of faults) expect(() => repliesIn(JSON.stringify([{ ...sent, ...fault }])), JSON.stringify(fault)).toThrow(ZodError);
});
