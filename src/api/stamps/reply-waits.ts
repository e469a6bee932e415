import type { Logger } from '../../shared/runtime/log.ts';
import { answerWithin } from '../../shared/runtime/within.ts';

/** When the time of a caller is up, the store is asked once more. This is the maximum wait for its answer, in milliseconds. */
const lastLookMs = 500;

/** The result of a wait. `reply` is undefined if there was none in time. `isAccepted`: whether the queue has confirmed the job. */
export interface Heard<Reply> {
  readonly reply: Reply | undefined;
  readonly isAccepted: boolean;
}

/** The waits of requests for the replies of workers, by the id of what is made. */
export interface ReplyWaits<Reply> {
  /**
   * Waits this long for replies, in the order of the ids, and then up to half a second for the store, which is asked once for all ids without a reply.
   * Call it as soon as the job is sent to the queue, so that no reply is missed.
   */
  waitForAll(ids: readonly string[], waitMs: number): Promise<Heard<Reply>>[];
  /** Whether a request already waits for the id. */
  isWaitedFor(id: string): boolean;
  /** Notes that the queue has confirmed the job. */
  accepted(id: string): void;
  /** Ends the wait for something that was not accepted. Its callers get `reason` as error. */
  fail(id: string, reason: unknown): void;
  settle(id: string, reply: Reply): void;
  /** Asks the store about these ids, because their reply may have come before the wait. */
  lookUp(ids: readonly string[]): Promise<void>;
  /** Asks the store about all ids that requests wait for, because replies may have been lost (docs/reference/architecture.md "Replying"). */
  lookUpAll(): Promise<void>;
}

/** Waits that began together. */
interface Group {
  left: number;
  timer?: NodeJS.Timeout;
}

/**
 * A wait is `sent` until the queue confirms the job, then `accepted`. In both states a worker's reply, or a record found in the store, ends the wait
 * with an answer, and a timeout ends it without one. In `sent`, an error of the queue ends it with this error. After its end, a wait is removed.
 */
interface Wait<Reply> {
  state: 'sent' | 'accepted';
  readonly promise: Promise<Heard<Reply>>;
  readonly resolve: (heard: Heard<Reply>) => void;
  readonly reject: (reason: unknown) => void;
  readonly group: Group;
}

/** `findStored` reads what exists under these ids from the store, and returns a reply for each by its id. */
export function createReplyWaits<Reply>(options: {
  findStored: (ids: readonly string[]) => Promise<ReadonlyMap<string, Reply>>;
  log: Logger;
}): ReplyWaits<Reply> {
  const { findStored, log } = options;
  const waits = new Map<string, Wait<Reply>>();

  function take(id: string): Wait<Reply> | undefined {
    const wait = waits.get(id);
    waits.delete(id);
    if (wait) wait.group.left -= 1;
    if (wait?.group.left === 0) clearTimeout(wait.group.timer);
    return wait;
  }

  function settle(id: string, reply: Reply | undefined): void {
    const wait = take(id);
    wait?.resolve({ reply, isAccepted: wait.state === 'accepted' });
  }

  async function lookUp(ids: readonly string[]): Promise<void> {
    try {
      for (const [id, reply] of await findStored(ids)) settle(id, reply);
    } catch (error) {
      log.warn({ err: error, waits: ids.length }, 'could not ask the store for what requests wait for');
    }
  }

  async function giveUp(ids: readonly string[], group: Group): Promise<void> {
    // A wait that a later request began for the same id is not in this group and continues.
    const left = () => ids.filter((id) => waits.get(id)?.group === group);
    await answerWithin(lastLookMs, () => lookUp(left()));
    for (const id of left()) settle(id, undefined);
  }

  function begin(id: string, group: Group): Wait<Reply> {
    group.left += 1;
    const wait: Wait<Reply> = { state: 'sent', group, ...Promise.withResolvers<Heard<Reply>>() };
    waits.set(id, wait);
    return wait;
  }

  return {
    waitForAll: (ids, waitMs) => {
      const group: Group = { left: 0 };
      const all = ids.map((id) => waits.get(id) ?? begin(id, group));
      if (group.left > 0) group.timer = setTimeout(() => void giveUp(ids, group), waitMs);
      return all.map(({ promise }) => promise);
    },
    isWaitedFor: (id) => waits.has(id),
    fail: (id, reason) => take(id)?.reject(reason),
    accepted: (id) => {
      const wait = waits.get(id);
      if (wait) wait.state = 'accepted';
    },
    settle,
    lookUp,
    lookUpAll: async () => {
      if (waits.size > 0) await lookUp([...waits.keys()]);
    },
  };
}
