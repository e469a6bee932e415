import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import { answerWithin, every } from '../../shared/runtime/timers.ts';

/** The pause between two checks, so that a change is noticed within 3 s. */
const lookMs = 1_500;
/**
 * If a server takes longer than this, it counts as slow, not as refusing writes. It must be shorter than `producerTimeoutMs`: after that, a Redis
 * that does not answer looks like an error.
 */
const timeoutMs = 700;

const servers = ['redis', 'mongodb'] as const;
type Server = (typeof servers)[number];

/** True for a server that answers but accepts no writes: it is full or read-only. */
export type Refusing = Readonly<Record<Server, boolean>>;

interface WatchedServer {
  readonly ping: () => Promise<unknown>;
  readonly write: () => Promise<unknown>;
}

/**
 * Checks regularly whether the servers accept writes. It does not report a server that does not answer at all: its callers notice that themselves.
 */
export function watchWrites({ log, ...watched }: Readonly<Record<Server, WatchedServer>> & { readonly log: Logger }) {
  const stopping = new AbortController();
  const refusing = { redis: false, mongodb: false };

  async function look(server: Server): Promise<void> {
    const { ping, write } = watched[server];
    const outcomeOf = (ask: () => Promise<unknown>) =>
      answerWithin(timeoutMs, () =>
        ask()
          .then(() => 'done')
          .catch(() => 'refused'),
      );
    const isRefusing = (await outcomeOf(ping)) === 'done' && (await outcomeOf(write)) === 'refused';
    if (isRefusing !== refusing[server]) {
      if (isRefusing) log.warn({ server }, 'a server accepts no writes');
      else log.info({ server }, 'a server accepts writes again');
    }
    refusing[server] = isRefusing;
  }

  const looking = every(lookMs, () => Promise.all(servers.map(look)), stopping.signal);
  return {
    refusing: (): Refusing => ({ ...refusing }),
    /** @throws ServiceError `store_unavailable` while the store answers but accepts no writes (E10) */
    checkStore: (): void => {
      if (refusing.mongodb)
        throw new ServiceError('store_unavailable', 'The store accepts no writes at the moment.', { retryAfterSeconds: 2 });
    },
    stop: async () => {
      stopping.abort();
      await looking;
    },
  };
}
