import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { sha256Imprint } from '../../src/shared/domain/stamp.ts';
import type { SentReply } from '../../src/shared/queue/sent-reply.ts';
import type { StampItem } from '../../src/shared/queue/stamp-job.ts';
import { createStampProcessor } from '../../src/workers/processors/stamp.ts';
import type { StampsMade } from '../../src/workers/stamping/stamp-maker.ts';

const item: StampItem = {
  tokenId: randomUUID(),
  imprint: sha256Imprint('ab'.repeat(32)),
  tier: 'basic',
  caller: { kind: 'agent' },
  acceptedAt: 1_000_000,
  requestId: 'test',
};

/** One run of a job whose only stamp no provider makes. */
async function runFailing({ counted = Promise.resolve(), isOurs = true, nowMs = 1_000_500 }) {
  const sent: SentReply[] = [];
  const kept: object[] = [];
  let clockMs = 1_000_000;
  const made: StampsMade = { stored: [], refused: [], owed: [], failed: [{ item, code: 'provider_failed' }], counted };
  const process = createStampProcessor({
    makeStamps: async () => {
      clockMs = nowMs;
      return made;
    },
    appendOutputs: async () => new Map(),
    refusals: { insertOnce: async () => undefined },
    sealedContents: {} as never,
    sendReplies: async (_to, replies) => void sent.push(...replies),
    sendCounted: async () => undefined,
    announce: async () => undefined,
    clock: () => clockMs,
    waitMs: 10_000,
  });
  const run = {
    jobId: 'job',
    life: 'job@1',
    run: 1,
    isRetry: false,
    isOurs: async () => isOurs,
    note: async () => undefined,
    keepOnly: async (rest: object) => void kept.push(rest),
    endsAfter: () => undefined,
    onEnd: () => undefined,
  };
  const outcome = await process({ replyTo: 'api', items: [item] }, run).then(
    () => 'done',
    () => 'done again',
  );
  return { outcome, told: sent.map(({ outcome }) => outcome), kept };
}

test('E9: a caller is told that no provider stamped only where nobody will stamp it any more', async () => {
  expect(await runFailing({})).toEqual({ outcome: 'done', told: ['failed'], kept: [] });
  // The run may be repeated, and stamp.
  expect(await runFailing({ counted: Promise.reject(new Error('the store is away')) })).toEqual({
    outcome: 'done again',
    told: [],
    kept: [],
  });
  // Another worker has the job, and may have stamped.
  expect(await runFailing({ isOurs: false })).toEqual({ outcome: 'done again', told: [], kept: [] });
});

test('E11: where the caller has had its 504 meanwhile, the stamp is owed', async () => {
  expect(await runFailing({ nowMs: 1_009_500 })).toEqual({ outcome: 'done again', told: [], kept: [{ replyTo: 'api', items: [item] }] });
});
