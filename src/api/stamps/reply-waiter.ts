import type { StampReply } from '../../shared/queue/stamp-job.ts';
import { answerWithin } from '../../shared/runtime/answer-within.ts';
import type { Logger } from '../../shared/runtime/log.ts';

/** After the time of a caller is up, the store is asked once more, and may take this long. */
const lastLookMs = 1_000;

/** What a caller gets to know. `isAccepted`: whether the queue is known to have taken the item. */
export interface Heard {
  readonly reply: StampReply | undefined;
  readonly isAccepted: boolean;
}

/** Matches replies of workers to the requests that wait for them. */
export interface ReplyWaiter {
  /**
   * Waits for the configured time, and up to a second more for the store. No reply when by then there is neither a reply nor a stored
   * stamp. Call it before the item is queued.
   */
  waitFor(tokenId: string): Promise<Heard>;
  /** The same for many, in their order: all have the same time, and the store is asked once for those that are left. */
  waitForAll(tokenIds: readonly string[]): Promise<Heard>[];
  /** Whether somebody waits for the token already. */
  isWaitedFor(tokenId: string): boolean;
  /** Notes that the queue has taken the item. */
  accepted(tokenId: string): void;
  /** Ends the wait for a stamp that was not accepted after all; its callers get this error. */
  fail(tokenId: string, reason: unknown): void;
  settle(reply: StampReply): void;
  /** Asks the store for everything that is waited for: replies may have been lost (docs/architecture.md "Replying"). */
  lookUpAll(): Promise<void>;
}

/** What began to be waited for together. */
interface Group {
  left: number;
  timer?: NodeJS.Timeout;
}

interface Waiting {
  isAccepted: boolean;
  readonly promise: Promise<Heard>;
  readonly resolve: (heard: Heard) => void;
  readonly reject: (reason: unknown) => void;
  readonly group: Group;
}

/** `findStored` answers what the store holds of some tokens: a reply is a hint, the store is the truth. */
export function createReplyWaiter(options: {
  waitMs: number;
  findStored: (tokenIds: readonly string[]) => Promise<StampReply[]>;
  log: Logger;
}): ReplyWaiter {
  const { waitMs, findStored, log } = options;
  const waiting = new Map<string, Waiting>();

  function take(tokenId: string): Waiting | undefined {
    const entry = waiting.get(tokenId);
    waiting.delete(tokenId);
    if (entry) entry.group.left -= 1;
    if (entry?.group.left === 0) clearTimeout(entry.group.timer);
    return entry;
  }

  function settle(tokenId: string, reply: StampReply | undefined): void {
    const entry = take(tokenId);
    entry?.resolve({ reply, isAccepted: entry.isAccepted });
  }

  async function lookUp(tokenIds: readonly string[]): Promise<void> {
    try {
      for (const reply of await findStored(tokenIds)) settle(reply.tokenId, reply);
    } catch (error) {
      log.warn({ err: error, stamps: tokenIds.length }, 'the store could not be asked for stamps that are waited for');
    }
  }

  async function giveUp(tokenIds: readonly string[], group: Group): Promise<void> {
    // Another request for the same stamp may wait by now.
    const leftOf = () => tokenIds.filter((tokenId) => waiting.get(tokenId)?.group === group);
    await answerWithin(lastLookMs, () => lookUp(leftOf()));
    for (const tokenId of leftOf()) settle(tokenId, undefined);
  }

  function begin(tokenId: string, group: Group): Waiting {
    group.left += 1;
    const entry = { isAccepted: false, group, ...Promise.withResolvers<Heard>() };
    waiting.set(tokenId, entry);
    return entry;
  }

  function waitForAll(tokenIds: readonly string[]): Promise<Heard>[] {
    const group: Group = { left: 0 };
    const entries = tokenIds.map((tokenId) => waiting.get(tokenId) ?? begin(tokenId, group));
    if (group.left > 0) group.timer = setTimeout(() => void giveUp(tokenIds, group), waitMs);
    return entries.map(({ promise }) => promise);
  }

  return {
    waitFor: (tokenId) => waitForAll([tokenId])[0]!,
    waitForAll,
    isWaitedFor: (tokenId) => waiting.has(tokenId),
    fail: (tokenId, reason) => take(tokenId)?.reject(reason),
    accepted: (tokenId) => {
      const entry = waiting.get(tokenId);
      if (entry) entry.isAccepted = true;
    },
    settle: (reply) => settle(reply.tokenId, reply),
    lookUpAll: async () => {
      if (waiting.size > 0) await lookUp([...waiting.keys()]);
    },
  };
}
