import { expect, test } from 'vitest';
import { stampJobSchema } from '../../../src/shared/queue/sent-job.ts';

test('a job that version 0.2.0 queued is read: a hash is an imprint, metadata is text as it was stored then', () => {
  const item = {
    tokenId: '01a200dd-274b-77d8-abf4-047affb30f65',
    hash: 'a'.repeat(64),
    tier: 'basic',
    caller: { kind: 'agent' },
    acceptedAt: 1,
    requestId: 'r',
    metadata: { a: 'b' },
  };
  const { hash: digest, metadata: _, ...same } = item;
  const { items } = stampJobSchema.parse({ replyTo: 'stream', items: [item, { ...item, metadata: undefined }] });
  const imprint = { algorithm: 'sha256', digest };
  expect(items).toEqual([
    { ...same, imprint, metadata: '{"a":"b"}' },
    { ...same, imprint },
  ]);
});
