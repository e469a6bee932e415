import { expect, test } from 'vitest';
import { ZodError } from 'zod';
import { sentJobOf, stampJobSchema } from '../../../src/shared/queue/sent-job.ts';
import type { StampItem, StampJob } from '../../../src/shared/queue/stamp-job.ts';
import { stampItem } from '../../support/stamp-items.ts';

/** As it travels through Redis. */
const textOf = (job: StampJob): string => JSON.stringify(sentJobOf(job));
const arrived = (job: StampJob): StampJob => stampJobSchema.parse(JSON.parse(textOf(job)));

const some = (count: number, changes: Partial<StampItem> = {}): StampItem[] =>
  Array.from({ length: count }, (_, index) => ({
    ...stampItem(),
    acceptedAt: 7,
    requestId: 'r',
    imprint: { algorithm: 'sha256', digest: index.toString(16).padStart(64, '0') },
    ...changes,
  }));

test('L1: the items of several requests arrive as they were sent, in their order, though what they share travels once', () => {
  const sha512 = { algorithm: 'sha512', digest: 'b'.repeat(128) } as const;
  const items = [
    ...some(20),
    ...some(20, { requestId: 'another', caller: { kind: 'internal', product: 'p' } }),
    ...some(20, { requestId: 'another', caller: { kind: 'internal', product: 'q' } }),
    ...some(20, { imprint: sha512, isPromised: true, requiresQualified: true, paymentClaim: 'paid' }),
    ...some(20, { imprint: sha512 }),
  ];
  for (const job of [
    { replyTo: 'stream', items },
    { replyTo: 'stream', items, isRepeated: true },
  ]) {
    expect(arrived(job)).toEqual(job);
    expect(textOf(job).length).toBeLessThan(JSON.stringify(job).length * 0.6);
  }
});

test.each([
  ['metadata', { metadata: 'encrypted' }],
  ['sealed content', { sealed: { contentId: 'c', secretSha256: 's', bytes: 3 } }],
  ['what a client asks for', { asked: { nonce: '5' } }],
  ['a webhook', { callback: 'encrypted' }],
  [
    'an output',
    {
      output: {
        workflowId: '01a200dd-274b-77d8-abf4-047affb30f65',
        briefingHash: 'c'.repeat(64),
        outputId: '01a200dd-274b-77d8-abf4-047affb30f66',
        type: 't',
      },
    },
  ],
] satisfies [string, Partial<StampItem>][])('an item with %s arrives with it, at its place', (_, own) => {
  const job = { replyTo: 'stream', items: [...some(30), ...some(1, own), ...some(30)] };
  expect(arrived(job)).toEqual(job);
});

test('items of requests that have nothing in common are sent as they are', () => {
  const items = Array.from({ length: 12 }, (_, index) => some(1, { requestId: `r${index}` })).flat();
  for (const job of [
    { replyTo: 'stream', items },
    { replyTo: 'stream', items: some(1) },
    { replyTo: 'stream', items: some(3) },
  ]) {
    expect(arrived(job)).toEqual(job);
    expect(textOf(job)).toBe(JSON.stringify(job));
  }
});

test('a payload that is no job is refused', () => {
  const sent = JSON.parse(textOf({ replyTo: 'stream', items: some(8) }));
  expect(stampJobSchema.parse(sent).items).toHaveLength(8);
  const [group] = sent.alike;
  const faults = [
    { alike: [] },
    { alike: [{}] },
    { alike: 'all' },
    { alike: [group, null] },
    { alike: [{ ...group, tokenIds: '', digests: '' }] },
    { alike: [{ ...group, tokenIds: group.tokenIds.slice(1) }] },
    { alike: [{ ...group, tokenIds: group.tokenIds.slice(36) }] },
    { alike: [{ ...group, digests: group.digests.slice(64) }] },
    { alike: [{ ...group, tokenIds: group.tokenIds.replaceAll('-', '+') }] },
    { alike: [{ ...group, algorithm: 'md5' }] },
    { alike: [{ ...group, shared: { ...group.shared, tier: 'best' } }] },
    { alike: [{ ...group, tokenIds: group.tokenIds.repeat(33), digests: group.digests.repeat(33) }] },
    { replyTo: 3 },
  ];
  for (const fault of faults) {
    expect(() => stampJobSchema.parse({ ...sent, ...fault }), JSON.stringify(fault).slice(0, 200)).toThrow(ZodError);
  }
});
