import { ServiceError } from '../shared/domain/service-error.ts';
import { type FailedJobs, openFailedJobs, type ShownJob } from '../shared/queue/failed-jobs.ts';
import { isStampJob } from '../shared/queue/jobs.ts';
import { connectProducer, disconnect, untilReady } from '../shared/redis/connection.ts';
import { parseSettings, settingsSchema } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { connectStore } from '../shared/store/connection.ts';
import { createRefusalStore, type RefusalStore } from '../shared/store/refusals.ts';
import { type OperatorCommand, type OperatorExitCode, runOperatorCommand, UsageError } from './operator-command.ts';

const usage = `qstamp jobs: shows, retries and removes jobs that the service has given up

  qstamp jobs failed               lists them, oldest first
  qstamp jobs retry ID… | --all    puts them back into their queue
  qstamp jobs drop ID… | --all     removes them for good; their verify_url still says stamp_failed

  --json    one line of JSON for each job
  --quiet   only problems
  --help

The service gives up a job if it fails five times for its own reason, or if its worker is lost ten
times. The job stays until it is retried or dropped. Settings: REDIS_URL, MONGODB_URL. Exit codes:
0 done, 1 no such job, or a server does not answer, 2 usage or settings.
`;

const stampsOf = ({ job }: ShownJob): string[] => (job && isStampJob(job) ? job.payload.items.map(({ tokenId }) => tokenId) : []);

function lineOf(shown: ShownJob, json: boolean): string {
  const { id, kind, reason, failedAt } = shown;
  const stamps = stampsOf(shown);
  if (json) return `${JSON.stringify({ id, kind, failed_at: failedAt.toISOString(), reason, token_ids: stamps })}\n`;
  const what = stamps.length === 0 ? kind : `${kind} (${stamps.length === 1 ? stamps[0] : `${stamps.length} stamps`})`;
  return `${id}  ${failedAt.toISOString()}  ${what}: ${reason}\n`;
}

async function retry(failed: FailedJobs, refusals: RefusalStore, shown: ShownJob): Promise<void> {
  await refusals.forgetFailed(stampsOf(shown));
  await failed.retry(shown.id);
}

/** Drops a job. The `verify_url` of its stamps still shows that they failed. */
async function drop(failed: FailedJobs, refusals: RefusalStore, shown: ShownJob): Promise<void> {
  await refusals.insertOnce(stampsOf(shown).map((tokenId) => ({ tokenId, reason: 'stamp_failed', at: shown.failedAt })));
  await failed.drop(shown.id);
}

async function openServers(environment: OperatorCommand['environment']) {
  const settings = settingsSchema.pick({ REDIS_URL: true, MONGODB_URL: true });
  const { REDIS_URL, MONGODB_URL } = parseSettings(settings, environment);
  const log = createLogger({ level: 'silent', process: 'operator' });
  const store = connectStore(MONGODB_URL, log);
  const redis = connectProducer(REDIS_URL, log);
  await untilReady(redis);
  const failed = openFailedJobs({ redis, log });
  return {
    failed,
    refusals: createRefusalStore(store.db),
    close: async () => {
      await failed.close();
      await store.close();
      await disconnect(redis);
    },
  };
}

async function select(failed: FailedJobs, ids: readonly string[], all: boolean): Promise<{ found: ShownJob[]; missing: string[] }> {
  if (all) return { found: await Array.fromAsync(failed.list()), missing: [] };
  const found = await Promise.all(ids.map((id) => failed.find(id)));
  return { found: found.filter((job) => job !== undefined), missing: ids.filter((_, index) => found[index] === undefined) };
}

/** Runs `qstamp jobs failed | retry | drop`. Resolves with the exit code. */
export const jobs = (command: OperatorCommand): Promise<OperatorExitCode> =>
  runOperatorCommand(command, usage, async ({ operands: [action, ...ids], json, all, print }) => {
    const { environment, stderr } = command;
    const isListing = action === 'failed';
    if (!isListing && action !== 'retry' && action !== 'drop') throw new UsageError('jobs takes failed, retry or drop');
    if (isListing ? ids.length > 0 : (ids.length === 0) !== all) {
      throw new UsageError(isListing ? 'jobs failed takes no ids' : `jobs ${action} takes ids of jobs, or --all`);
    }
    const { failed, refusals, close } = await openServers(environment);
    try {
      if (isListing) {
        for await (const job of failed.list()) print(lineOf(job, json));
        return 0;
      }
      const { found, missing } = await select(failed, ids, all);
      for (const job of found) {
        await (action === 'retry' ? retry(failed, refusals, job) : drop(failed, refusals, job));
        print(json ? lineOf(job, json) : `${job.id} ${action === 'retry' ? 'is retried' : 'was dropped'}\n`);
      }
      for (const id of missing) stderr.write(`qstamp: there is no failed job ${id}\n`);
      return missing.length === 0 ? 0 : 1;
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw new ServiceError('queue_unavailable', `REDIS_URL: Redis does not answer (${error instanceof Error ? error.message : error}).`);
    } finally {
      await close();
    }
  });
