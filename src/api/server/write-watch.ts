import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { answerWithin } from '../../shared/runtime/answer-within.ts';
import type { Logger } from '../../shared/runtime/log.ts';

/** Between looks: a state is known within 3 s. */
const lookMs = 1_500;
/** A server that takes longer is slow and refuses nothing. Shorter than `producerTimeoutMs`, after which a silent Redis looks like an error. */
const timeoutMs = 700;

const servers = ['redis', 'mongodb'] as const;
type Server = (typeof servers)[number];

/** A server that answers and writes nothing: it is full, or read-only. */
export type Refusing = Readonly<Record<Server, boolean>>;

/** Looks all the time whether the servers take writes; one that does not answer at all is seen by whoever asks it. */
export interface WriteWatch {
  refusing(): Refusing;
  /** @throws ServiceError `store_unavailable` while the store answers and takes no writes (E10) */
  checkStore(): void;
  stop(): Promise<void>;
}

export interface WatchedServer {
  readonly ping: () => Promise<unknown>;
  readonly write: () => Promise<unknown>;
}

export function watchWrites(options: Readonly<Record<Server, WatchedServer>> & { readonly log: Logger }): WriteWatch {
  const { log } = options;
  const stopping = new AbortController();
  const refusing = { redis: false, mongodb: false };

  async function look(server: Server): Promise<void> {
    const { ping, write } = options[server];
    const outcomeOf = (ask: () => Promise<unknown>) =>
      answerWithin(timeoutMs, () =>
        ask().then(
          () => 'done',
          () => 'refused',
        ),
      );
    const isRefusing = (await outcomeOf(ping)) === 'done' && (await outcomeOf(write)) === 'refused';
    if (isRefusing !== refusing[server]) {
      if (isRefusing) log.warn({ server }, 'a server takes no writes');
      else log.info({ server }, 'a server takes writes again');
    }
    refusing[server] = isRefusing;
  }

  async function lookUntilStopped(): Promise<void> {
    while (!stopping.signal.aborted) {
      await Promise.all(servers.map(look));
      await delay(lookMs, undefined, { signal: stopping.signal }).catch((error: Error) => {
        if (error.name !== 'AbortError') throw error;
      });
    }
  }

  const looking = lookUntilStopped();
  return {
    refusing: () => ({ ...refusing }),
    checkStore: () => {
      if (refusing.mongodb)
        throw new ServiceError('store_unavailable', 'The store takes no writes at the moment.', { retryAfterSeconds: 2 });
    },
    stop: async () => {
      stopping.abort();
      await looking;
    },
  };
}
