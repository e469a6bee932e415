import { z } from 'zod';
import { createLeafRecords } from '../domain/leaf-record.ts';
import { type Batch, type Imprint, imprintAlgorithms, type Stamp } from '../domain/stamp.ts';
import { type StampedReply, type StampReply, stampedReplyFields, stampedReplyOf, stampReplySchema } from './stamp-job.ts';

const { tokenId, output, ...fieldsOfBatch } = stampedReplyFields;

/**
 * The replies of a job as they travel. Nearly all of the evidence record of a leaf is the token of its batch, so that token travels once, and
 * the API composes the records: `hashes` are digest, blind and siblings of a leaf, one after the other. With whole records the service makes
 * two thirds of the batched stamps a second.
 */
const sentRepliesSchema = z.object({
  batches: z.array(z.object({ ...fieldsOfBatch, tst: z.string() })),
  replies: z.array(
    z.discriminatedUnion('outcome', [
      stampReplySchema,
      z.object({
        outcome: z.literal('leaf'),
        tokenId,
        output,
        /** Its place among the batches. */
        batch: z.int(),
        algorithm: z.enum(imprintAlgorithms),
        hashes: z.string(),
      }),
    ]),
  ),
});
type SentReplies = z.output<typeof sentRepliesSchema>;

interface LeafReply extends Pick<StampedReply, 'tokenId' | 'output'> {
  readonly outcome: 'leaf';
  readonly imprint: Imprint;
  readonly batch: Batch;
  readonly path: readonly Buffer[];
}

/** A reply of a worker. */
export type WorkerReply = StampReply | LeafReply;

/** What a worker says of a stamp that exists. */
export function workerReplyOf(stamp: Stamp): StampedReply | LeafReply {
  const { tokenId, imprint, proofs } = stamp;
  const [proof] = proofs;
  if (proof.kind !== 'leaf' || proof.own || proof.batch.renewals?.length) return stampedReplyOf(stamp);
  return { outcome: 'leaf', tokenId, imprint, batch: proof.batch, path: proof.path };
}

export function textOfReplies(given: readonly WorkerReply[]): string {
  const batches = [...new Set(given.flatMap((reply) => (reply.outcome === 'leaf' ? reply.batch : [])))];
  const replies = given.map((reply): SentReplies['replies'][number] => {
    if (reply.outcome !== 'leaf') return reply;
    const { imprint, batch, path, ...rest } = reply;
    const hashes = Buffer.concat([Buffer.from(imprint.digest, 'hex'), ...path]).toString('base64');
    return { ...rest, batch: batches.indexOf(batch), algorithm: imprint.algorithm, hashes };
  });
  return JSON.stringify({
    batches: batches.map(({ issuedAt, provider, isQualified, tst }) => ({ issuedAt, provider, isQualified, tst: tst.toString('base64') })),
    replies,
  } satisfies SentReplies);
}

/** @throws Error for a text that is not of `textOfReplies` */
export function repliesIn(text: string): StampReply[] {
  const { batches, replies } = sentRepliesSchema.parse(JSON.parse(text));
  const made = batches.map(({ tst, ...batch }) => ({ ...batch, recordOf: createLeafRecords(Buffer.from(tst, 'base64')) }));
  return replies.map((reply) => {
    if (reply.outcome !== 'leaf') return reply;
    const { batch, algorithm, hashes, ...rest } = reply;
    const { recordOf, ...stamped } = made[batch] ?? {};
    if (!recordOf) throw new RangeError('the reply of a leaf names a batch that is not there');
    return { ...rest, ...stamped, outcome: 'stamped', token: recordOf(algorithm, Buffer.from(hashes, 'base64')) } as StampedReply;
  });
}
