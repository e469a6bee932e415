import { z } from 'zod';
import { createLeafRecords } from '../domain/leaf-record.ts';
import { digestCharacters, type ImprintAlgorithm, imprintAlgorithms, type Stamp } from '../domain/stamp.ts';
import { rememberLast } from '../runtime/remember-last.ts';
import { type StampedReply, type StampReply, stampedReplyFields, stampedReplyOf, stampReplySchema } from './stamp-job.ts';

/**
 * What travels of a stamp in a batch: whoever reads it composes its evidence record. Nearly all of a record is the token of its batch, which
 * would travel with each leaf.
 */
const leafReplySchema = z
  .object({
    ...stampedReplyFields,
    outcome: z.literal('leaf'),
    algorithm: z.enum(imprintAlgorithms),
    /** The digest of the imprint, the blind, and the siblings up to the root, one after the other, base64. */
    hashes: z.string(),
    /** The batch's token, DER, base64; absent: that of the last reply that has one. */
    tst: z.string().optional(),
  })
  .refine(({ algorithm, hashes }) => areWhole(algorithm, Buffer.byteLength(hashes, 'base64')), { path: ['hashes'] });

const areWhole = (algorithm: ImprintAlgorithm, octets: number): boolean => octets > 0 && octets % (digestCharacters[algorithm] / 2) === 0;

const sentRepliesSchema = z.array(z.discriminatedUnion('outcome', [leafReplySchema, stampReplySchema]));

type LeafReply = z.infer<typeof leafReplySchema>;

/** A reply on its way to the API process that waits for it. */
export type SentReply = z.infer<typeof sentRepliesSchema>[number];

const base64Of = rememberLast((octets: Buffer) => octets.toString('base64'));

/** What a worker sends of a stamp that exists. */
export function sentReplyOf(stamp: Stamp): StampedReply | LeafReply {
  const [proof] = stamp.proofs;
  if (proof.kind !== 'leaf' || proof.own || proof.batch.renewals?.length) return stampedReplyOf(stamp);
  const { issuedAt, provider, isQualified, batch, path } = proof;
  const { algorithm, digest } = stamp.imprint;
  const hashes = Buffer.concat([Buffer.from(digest, 'hex'), ...path]).toString('base64');
  return { outcome: 'leaf', tokenId: stamp.tokenId, issuedAt, provider, isQualified, algorithm, hashes, tst: base64Of(batch.tst) };
}

/** The replies as JSON; a token that follows itself is written once. */
export function textOfReplies(replies: readonly SentReply[]): string {
  let last: string | undefined;
  const sent = replies.map((reply) => {
    if (reply.outcome !== 'leaf') return reply;
    const { tst, ...rest } = reply;
    if (tst === last) return rest;
    last = tst;
    return reply;
  });
  return JSON.stringify(sent);
}

/** @throws ZodError for a text that is not of `textOfReplies` */
export function repliesIn(text: string): StampReply[] {
  let recordOf = createLeafRecords(Buffer.alloc(0));
  return sentRepliesSchema.parse(JSON.parse(text)).map((reply): StampReply => {
    if (reply.outcome !== 'leaf') return reply;
    const { algorithm, hashes, tst, ...rest } = reply;
    if (tst !== undefined) recordOf = createLeafRecords(Buffer.from(tst, 'base64'));
    return { ...rest, outcome: 'stamped', token: recordOf(algorithm, Buffer.from(hashes, 'base64')) };
  });
}
