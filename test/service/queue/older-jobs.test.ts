import { expect, test } from 'vitest';
import { type StampItem, stampJobSchema } from '../../../src/shared/queue/stamp-job.ts';
import { stampItem } from '../../support/stamp-items.ts';

const item = { ...stampItem(), acceptedAt: 1, requestId: 'r' };

test('jobs queued by version 0.2.0 are read: a hash becomes an imprint, metadata is text as stored then', () => {
  const { imprint, ...same } = item;
  const old = { ...same, hash: imprint.digest };
  const { items } = stampJobSchema.parse({ replyTo: 'stream', items: [{ ...old, metadata: { a: 'b' } }, old] });
  expect(items).toEqual([{ ...item, metadata: '{"a":"b"}' }, item]);
});

/** Items in the group format of the previous version. */
const groupOf = (items: readonly StampItem[]) => {
  const { tokenId: _, imprint, ...shared } = items[0]!;
  return {
    shared,
    algorithm: imprint.algorithm,
    tokenIds: items.map(({ tokenId }) => tokenId).join(''),
    digests: items.map(({ imprint: { digest } }) => digest).join(''),
  };
};

const sha512 = { algorithm: 'sha512', digest: 'b'.repeat(128) } as const;
const [one, another] = [
  [item, { ...item, ...stampItem(), acceptedAt: 1, requestId: 'r' }],
  [{ ...stampItem(), imprint: sha512 }],
] satisfies StampItem[][];

test('a job with shared fields for its items is read, in the order of the items', () => {
  const alike = [groupOf(one!), groupOf(another!)];
  expect(stampJobSchema.parse({ replyTo: 'stream', alike })).toEqual({ replyTo: 'stream', items: [...one!, ...another!] });
});

test.each([
  ['no group', []],
  ['no list', 'all'],
  ['a group that is none', [groupOf(one!), null]],
  ['an empty group', [groupOf(one!), { ...groupOf(another!), tokenIds: '', digests: '' }]],
  ['a digest too few', [groupOf(another!), { ...groupOf(one!), digests: item.imprint.digest }]],
  ['an unknown algorithm', [groupOf(another!), { ...groupOf(one!), algorithm: 'md5' }]],
])('E11: a job with %s does not parse, so that none of it is lost', (_, alike) => {
  expect(stampJobSchema.safeParse({ replyTo: 'stream', alike }).success).toBe(false);
});
