import { ServiceError } from '../shared/domain/service-error.ts';
import { openFailedJobs, type ShownJob } from '../shared/queue/failed-jobs.ts';
import { isStampJob } from '../shared/queue/jobs.ts';
import { connectProducer, disconnect, untilReady } from '../shared/redis/connection.ts';
import { loadRedisSettings, parseSettings, settingsSchema } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { connectStore } from '../shared/store/connection.ts';
import { createRefusalStore } from '../shared/store/refusals.ts';
import type { Operator, OperatorExitCode } from './operator.ts';

/** Lists, retries or drops jobs that the service has given up. `ids` are not used for a list. */
export async function jobs(
  { environment, json, print, stderr }: Operator,
  action: 'failed' | 'retry' | 'drop',
  ids: readonly string[] | 'all',
): Promise<OperatorExitCode> {
  const redisSettings = loadRedisSettings(environment);
  const { MONGODB_URL } = parseSettings(settingsSchema.pick({ MONGODB_URL: true }), environment);
  const log = createLogger({ level: 'silent', process: 'operator' });
  await using opened = new AsyncDisposableStack();
  const redis = opened.adopt(connectProducer(redisSettings, log), disconnect);
  const store = opened.adopt(connectStore(MONGODB_URL, log), ({ close }) => close());
  await untilReady(redis);
  const failed = opened.adopt(openFailedJobs({ redis, log }), ({ close }) => close());
  const refusals = createRefusalStore(store.db);
  try {
    if (action === 'failed') {
      for await (const job of failed.list()) print(lineOf(job, json));
      return 0;
    }
    const found = ids === 'all' ? await Array.fromAsync(failed.list()) : await Promise.all(ids.map((id) => failed.find(id)));
    for (const job of found.filter((each) => each !== undefined)) {
      const stamps = stampsOf(job);
      if (action === 'retry') await refusals.forgetFailed(stamps);
      // The `verify_url` of its stamps still shows that they failed.
      else await refusals.insertOnce(stamps.map((tokenId) => ({ tokenId, reason: 'stamp_failed', at: job.failedAt })));
      await failed[action](job.id);
      print(json ? lineOf(job, json) : `${job.id} ${action === 'retry' ? 'is retried' : 'was dropped'}\n`);
    }
    const missing = ids === 'all' ? [] : ids.filter((_, index) => found[index] === undefined);
    for (const id of missing) stderr.write(`qstamp: there is no failed job ${id}\n`);
    return missing.length === 0 ? 0 : 1;
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('queue_unavailable', `REDIS_URL: Redis does not answer (${error instanceof Error ? error.message : error}).`);
  }
}

const stampsOf = ({ job }: ShownJob): string[] => (job && isStampJob(job) ? job.payload.items.map(({ tokenId }) => tokenId) : []);

function lineOf(shown: ShownJob, json: boolean): string {
  const { id, kind, reason, failedAt } = shown;
  const stamps = stampsOf(shown);
  if (json) return `${JSON.stringify({ id, kind, failed_at: failedAt.toISOString(), reason, token_ids: stamps })}\n`;
  const what = stamps.length === 0 ? kind : `${kind} (${stamps.length === 1 ? stamps[0] : `${stamps.length} stamps`})`;
  return `${id}  ${failedAt.toISOString()}  ${what}: ${reason}\n`;
}
