import { ServiceError } from '../shared/domain/service-error.ts';
import { connectProducer, disconnect, untilReady } from '../shared/queue/connection.ts';
import { openProviderNotes, type ProviderNotes } from '../shared/queue/provider-notes.ts';
import type { Logger } from '../shared/runtime/log.ts';
import type { TrustedProvider } from '../shared/trust/trusted-providers.ts';

/** Whether requests to one of these providers are counted, so that a command needs Redis. */
export const isCounted = (providers: readonly TrustedProvider[]): boolean => providers.some(({ settings }) => settings.rate);

/**
 * Runs `work` with the notes about providers that all workers share.
 *
 * @throws ServiceError `queue_unavailable` if requests are counted and Redis does not answer
 */
export async function withProviderNotes<T>(
  { providers, redisUrl, log }: { providers: readonly TrustedProvider[]; redisUrl: string; log: Logger },
  work: (notes: ProviderNotes) => Promise<T>,
): Promise<T> {
  const redis = connectProducer(redisUrl, log);
  try {
    await untilReady(redis);
    if (isCounted(providers) && redis.status !== 'ready') throw new ServiceError('queue_unavailable', 'REDIS_URL: Redis does not answer.');
    return await work(openProviderNotes({ redis, log }));
  } finally {
    await disconnect(redis);
  }
}
