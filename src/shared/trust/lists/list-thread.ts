import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Signers } from './signed-xml.ts';
import { type ListFault, ListRefusal, type TrustedList } from './trusted-list.ts';

/** A hostile list can be made to take hours. The largest real ones take less than a second. */
const longestReadMs = 30_000;

export interface ListReader {
  /** Reads one list after another, in the order of the calls. @throws ListRefusal */
  read(document: Uint8Array, signers: Signers): Promise<TrustedList>;
  close(): Promise<void>;
}

/** Reads lists in a thread of its own, because a large list takes half a second. The thread starts with the first list. */
export function openListThread(): ListReader {
  let thread: Worker | undefined;
  let isClosed = false;
  let last: Promise<unknown> = Promise.resolve();

  function startThread(): Worker {
    const started = new Worker(new URL(`./list-worker${extname(import.meta.url)}`, import.meta.url));
    // Without a listener, an error of a thread that reads nothing would end the process.
    started.on('error', () => {
      if (thread === started) thread = undefined;
    });
    return started;
  }

  async function readNext(document: Uint8Array, signers: Signers): Promise<TrustedList> {
    if (isClosed) throw new Error('the reader of lists is closed');
    thread ??= startThread();
    thread.postMessage({ document, signers });
    let answer: { readonly list: TrustedList; readonly refusal?: { readonly code: ListFault; readonly detail?: string } };
    try {
      [answer] = await once(thread, 'message', { signal: AbortSignal.timeout(longestReadMs) });
    } catch (error) {
      // The thread is stuck, or ended by an error such as too little memory. The next list gets a new one.
      await end();
      const isSlow = error instanceof Error && error.name === 'AbortError';
      throw new ListRefusal('list_malformed', isSlow ? `It cannot be read in ${longestReadMs / 1000} s.` : `Reading it fails: ${error}`);
    }
    if (answer.refusal) throw new ListRefusal(answer.refusal.code, answer.refusal.detail);
    return answer.list;
  }

  async function end(): Promise<void> {
    const ended = thread;
    thread = undefined;
    await ended?.terminate();
  }

  return {
    read: (document, signers) => {
      const list = last.then(() => readNext(document, signers));
      last = list.catch(() => undefined);
      return list;
    },
    close: async () => {
      isClosed = true;
      await last;
      await end();
    },
  };
}
