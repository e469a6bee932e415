import { z } from 'zod';
import { createLeafRecords } from '../domain/leaf-record.ts';
import { type Batch, digestCharacters, type Imprint, imprintAlgorithms, type Stamp } from '../domain/stamp.ts';
import { rememberLast } from '../runtime/remember-last.ts';
import { type StampedReply, type StampReply, stampedReplyFields, stampedReplyOf, stampReplySchema } from './stamp-job.ts';

const { tokenId, output, ...fieldsOfBatch } = stampedReplyFields;

const octetsInBase64 = z.string().transform((text) => Buffer.from(text, 'base64'));

/**
 * What travels of stamps that follow each other and are of one batch: whoever reads it composes their evidence records. Nearly all of a record
 * is the token of its batch, which would travel with each leaf.
 */
const leavesReplySchema = z
  .object({
    ...fieldsOfBatch,
    outcome: z.literal('leaves'),
    algorithm: z.enum(imprintAlgorithms),
    /** The batch's token, DER, base64. */
    tst: octetsInBase64.refine(({ length }) => length > 0),
    tokenIds: z.array(tokenId),
    /** Of each, where it is an output of a workflow. */
    outputs: z.array(output.unwrap().nullable()).optional(),
    /** How many hashes each has: the digest of its imprint, its blind, and the siblings up to the root. */
    counts: z.array(z.int().positive()),
    /** All hashes, one after the other, base64. */
    hashes: octetsInBase64,
  })
  .refine(({ tokenIds, outputs = tokenIds }) => tokenIds.length === outputs.length, { path: ['outputs'] })
  .refine(({ tokenIds, counts }) => tokenIds.length === counts.length, { path: ['counts'] })
  .refine(({ algorithm, counts, hashes }) => hashes.length === octetsOf(algorithm) * sumOf(counts), { path: ['hashes'] });

const octetsOf = (algorithm: Imprint['algorithm']): number => digestCharacters[algorithm] / 2;
const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

const sentRepliesSchema = z.array(z.discriminatedUnion('outcome', [leavesReplySchema, stampReplySchema]));

type LeavesReply = z.output<typeof leavesReplySchema>;
type SentLeavesReply = z.input<typeof leavesReplySchema>;

/** A stamp in a batch, before it is sent with the others. */
interface LeafReply extends Pick<StampedReply, 'tokenId' | 'output'> {
  readonly outcome: 'leaf';
  readonly imprint: Imprint;
  readonly batch: Batch;
  readonly path: readonly Buffer[];
}

/** A reply on its way to the API process that waits for it. */
export type SentReply = StampReply | LeafReply;

const base64Of = rememberLast((octets: Buffer) => octets.toString('base64'));

/** What a worker sends of a stamp that exists. */
export function sentReplyOf(stamp: Stamp): StampedReply | LeafReply {
  const { tokenId, imprint, proofs } = stamp;
  const [proof] = proofs;
  if (proof.kind !== 'leaf' || proof.own || proof.batch.renewals?.length) return stampedReplyOf(stamp);
  return { outcome: 'leaf', tokenId, imprint, batch: proof.batch, path: proof.path };
}

/** Of leaves of one algorithm: the digest and the path of each, one after the other. */
function hashesOf(leaves: readonly LeafReply[]): Buffer {
  const octets = octetsOf(leaves[0]!.imprint.algorithm);
  const hashes = Buffer.allocUnsafe(octets * sumOf(leaves.map(({ path }) => 1 + path.length)));
  let at = 0;
  for (const { imprint, path } of leaves) {
    at += hashes.write(imprint.digest, at, 'hex');
    for (const hash of path) at += hash.copy(hashes, at);
  }
  return hashes;
}

const goTogether = (one: LeafReply, other: SentReply): boolean =>
  other.outcome === 'leaf' && other.batch.batchId === one.batch.batchId && other.imprint.algorithm === one.imprint.algorithm;

function leavesReplyOf(leaves: readonly [LeafReply, ...LeafReply[]]): SentLeavesReply {
  const [{ batch, imprint }] = leaves;
  const { issuedAt, provider, isQualified, tst } = batch;
  return {
    outcome: 'leaves',
    issuedAt,
    provider,
    isQualified,
    algorithm: imprint.algorithm,
    tst: base64Of(tst),
    tokenIds: leaves.map(({ tokenId }) => tokenId),
    ...(leaves.some(({ output }) => output) && { outputs: leaves.map(({ output = null }) => output) }),
    counts: leaves.map(({ path }) => 1 + path.length),
    hashes: hashesOf(leaves).toString('base64'),
  };
}

/** The replies as JSON. */
export function textOfReplies(replies: readonly SentReply[]): string {
  const sent: (StampReply | SentLeavesReply)[] = [];
  for (let at = 0; at < replies.length; ) {
    const first = replies[at]!;
    at += 1;
    if (first.outcome !== 'leaf') {
      sent.push(first);
      continue;
    }
    const leaves: [LeafReply, ...LeafReply[]] = [first];
    for (let next = replies[at]; next?.outcome === 'leaf' && goTogether(first, next); next = replies[at]) {
      leaves.push(next);
      at += 1;
    }
    sent.push(leavesReplyOf(leaves));
  }
  return JSON.stringify(sent);
}

function repliesOf({ algorithm, tst, tokenIds, outputs, counts, hashes, issuedAt, provider, isQualified }: LeavesReply): StampReply[] {
  const recordOf = createLeafRecords(tst);
  let end = 0;
  return tokenIds.map((tokenId, index) => {
    const start = end;
    end += counts[index]! * octetsOf(algorithm);
    const token = recordOf(algorithm, hashes.subarray(start, end));
    const output = outputs?.[index] ?? undefined;
    return { outcome: 'stamped', tokenId, issuedAt, provider, isQualified, token, ...(output && { output }) };
  });
}

/** @throws ZodError for a text that is not of `textOfReplies` */
export function repliesIn(text: string): StampReply[] {
  return sentRepliesSchema.parse(JSON.parse(text)).flatMap((reply) => (reply.outcome === 'leaves' ? repliesOf(reply) : [reply]));
}
