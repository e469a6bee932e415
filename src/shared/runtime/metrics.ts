import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@platformatic/prom-client';
import { type ClockState, clockStates, type ServiceState, type Survival, serviceStates, survivals } from '../domain/service-state.ts';
import { type Config, ConfigError } from './config.ts';
import type { ProcessContext } from './lifecycle.ts';
import type { Clock } from './timers.ts';
import { answerWithin } from './timers.ts';

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const answerTimeoutMs = 1_000;

interface QueueFigures {
  readonly waiting: number;
  /** Since when the oldest stamp waits, in milliseconds since the epoch; null if no stamp waits. */
  readonly oldestAt: number | null;
  readonly failedJobs: number;
  readonly survives: Survival;
}

interface NamedState {
  readonly name: string;
  readonly status: ServiceState;
  /** Only for an own signing key: whether its clock is confirmed, and by how many milliseconds it is ahead. */
  readonly clock?: { readonly state: ClockState; readonly driftMs: number | null } | undefined;
  readonly rate?: { readonly left: number } | undefined;
  /** RFC 3339; absent: the provider may be asked now. */
  readonly nextRequestAt?: string | undefined;
}

/** A trusted list in force, and the code of the refusal if the last refresh brought no list. */
interface ListFigures {
  readonly territory: string;
  readonly list: { readonly sequenceNumber: number; readonly issuedAt: string; readonly nextUpdate: string | null } | null;
  readonly refusal: { readonly code: string } | null;
}

/** The functions that every scrape calls. If the queue does not answer, its metrics are NaN. Workers do not report the queue. */
interface MetricSources {
  readonly readLists?: (() => Promise<readonly ListFigures[]>) | undefined;
  readonly readQueueState?: () => Promise<QueueFigures>;
  readonly readHealth?: () => readonly NamedState[];
}

type Outcome = 'done' | 'refused' | 'failed';
export type Metrics = ReturnType<typeof createMetrics>;

/** The Prometheus metrics of a process of the service. No label contains a caller. */
export function createMetrics({ clock }: { clock: Clock }) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const counter = (name: string, help: string, ...labelNames: string[]) => new Counter({ name, help, labelNames, registers });
  const gauge = (name: string, help: string, ...labelNames: string[]) => new Gauge({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, buckets: number[], ...labelNames: string[]) =>
    new Histogram({ name, help, buckets, labelNames, registers });

  const requestsHelp = 'Requests answered, by route, status and outcome (done, refused, failed).';
  const requests = histogram('qstamp_http_request_duration_seconds', requestsHelp, seconds, 'method', 'route', 'status', 'outcome');
  const refusals = counter('qstamp_refusals_total', 'Requests refused by a rule, by the code of the answer; nothing failed.', 'code');
  const failuresHelp = 'Requests that failed, by the code of the answer: the service or one of its dependencies did not work.';
  const failures = counter('qstamp_failures_total', failuresHelp, 'code');
  const limited = counter('qstamp_rate_limited_total', 'Requests refused by a rate limit.', 'limit');
  const stampsHelp = 'Stamps asked of providers, by outcome; refused: no provider makes such a stamp.';
  const stamps = histogram('qstamp_stamp_duration_seconds', stampsHelp, seconds, 'provider', 'outcome');
  const leavesHelp = 'Stamps per answer of a provider; its count is the number of requests that a TSA may bill.';
  const leaves = histogram(
    'qstamp_stamps_per_request',
    leavesHelp,
    Array.from({ length: 13 }, (_, power) => 2 ** power),
    'provider',
  );
  const mailsHelp = 'Mails handed to the server; deferred: not accepted and tried again, failed: refused permanently.';
  const mails = counter('qstamp_mails_total', mailsHelp, 'outcome');
  const jobs = counter('qstamp_job_failures_total', 'Failed runs of jobs, which are tried again or given up.', 'job');
  const renewalsHelp =
    'Stamps and batches whose evidence was renewed or lapsed (expired without a renewal), and requests to TSAs for renewals (asked).';
  const renewals = counter('qstamp_renewals_total', renewalsHelp, 'outcome');
  const dueHelp = 'Stamps and batches whose evidence was due in the last run of this worker and could not be renewed.';
  const due = gauge('qstamp_evidence_due', dueHelp);
  const unknownHelp = 'Stamps and batches whose evidence the last run of this worker could not judge, so did not renew.';
  const unknown = gauge('qstamp_evidence_unknown', unknownHelp);
  const depth = gauge('qstamp_queue_depth', 'Waiting stamps.');
  const age = gauge('qstamp_queue_oldest_age_seconds', 'Age of the oldest waiting stamp.');
  const failedJobs = gauge('qstamp_failed_jobs', 'Jobs that were given up and need an operator.');
  const survivesHelp = '1 for what every accepted stamp survives: a failover of Redis, a crash of it, nothing, or unknown.';
  const survives = gauge('qstamp_queue_survives', survivesHelp, 'what');
  // A process that does not read the queue shows no queue metrics, instead of zeros.
  for (const ofQueue of [depth, age, failedJobs]) ofQueue.remove();
  const statesHelp = '1 for the current state of a provider; an open breaker is an outage.';
  const states = gauge('qstamp_provider_state', statesHelp, 'provider', 'state');
  const clocksHelp = '1 for the state of the clock of an own signing key; with off or unknown the key does not stamp.';
  const clocks = gauge('qstamp_clock_state', clocksHelp, 'provider', 'state');
  const driftsHelp = 'How far the clock of an own signing key is ahead of the reference clocks; NaN if none answers.';
  const drifts = gauge('qstamp_clock_drift_seconds', driftsHelp, 'provider');

  const leftHelp = 'Requests that a provider with a rate allows now.';
  const left = gauge('qstamp_provider_requests_left', leftHelp, 'provider');
  const nextHelp = 'Seconds until a provider is asked next, because it failed or its rate is reached; 0: it is asked now.';
  const next = gauge('qstamp_provider_next_request_seconds', nextHelp, 'provider');

  const listNumbers = gauge('qstamp_trusted_list_number', 'Sequence number of the trusted list in force.', 'territory');
  const listAges = gauge('qstamp_trusted_list_age_seconds', 'Seconds since the trusted list in force was issued.', 'territory');
  const listUpdatesHelp = 'Seconds until the next update of the trusted list in force is due; negative: the list has expired.';
  const listUpdates = gauge('qstamp_trusted_list_next_update_seconds', listUpdatesHelp, 'territory');
  const listRefusalsHelp =
    '1 if the last refresh of a trusted list brought none, by the code of the reason; the last good list stays in force.';
  const listRefusals = gauge('qstamp_trusted_list_fault', listRefusalsHelp, 'territory', 'code');

  /** Lists and codes that are gone leave no metric behind. */
  async function collectLists(readLists: NonNullable<MetricSources['readLists']>): Promise<void> {
    const states = await answerWithin(answerTimeoutMs, readLists);
    for (const ofLists of [listNumbers, listAges, listUpdates, listRefusals]) ofLists.reset();
    for (const { territory, list, refusal } of states ?? []) {
      if (refusal) listRefusals.set({ territory, code: refusal.code }, 1);
      if (!list) continue;
      listNumbers.set({ territory }, list.sequenceNumber);
      listAges.set({ territory }, (clock() - Date.parse(list.issuedAt)) / 1_000);
      if (list.nextUpdate !== null) listUpdates.set({ territory }, (Date.parse(list.nextUpdate) - clock()) / 1_000);
    }
  }

  const ageSeconds = ({ oldestAt }: QueueFigures) => (oldestAt === null ? 0 : Math.max(0, (clock() - oldestAt) / 1_000));

  async function collect({ readQueueState, readLists, readHealth = () => [] }: MetricSources): Promise<void> {
    if (readLists) await collectLists(readLists);
    for (const { name, status, clock: own, rate, nextRequestAt } of readHealth()) {
      for (const state of serviceStates) states.set({ provider: name, state }, state === status ? 1 : 0);
      if (rate) left.set({ provider: name }, rate.left);
      next.set({ provider: name }, nextRequestAt === undefined ? 0 : Math.max(0, (Date.parse(nextRequestAt) - clock()) / 1_000));
      if (!own) continue;
      for (const state of clockStates) clocks.set({ provider: name, state }, state === own.state ? 1 : 0);
      drifts.set({ provider: name }, own.driftMs === null ? Number.NaN : own.driftMs / 1_000);
    }
    if (!readQueueState) return;
    const queue = await answerWithin(answerTimeoutMs, readQueueState);
    depth.set(queue?.waiting ?? Number.NaN);
    age.set(queue ? ageSeconds(queue) : Number.NaN);
    failedJobs.set(queue?.failedJobs ?? Number.NaN);
    for (const what of survivals) survives.set({ what }, what === (queue?.survives ?? 'unknown') ? 1 : 0);
  }

  return {
    answered: ({ seconds: took, ...labels }: { method: string; route: string; status: number; outcome: Outcome; seconds: number }): void =>
      requests.observe(labels, took),
    faulted: ({ outcome, code }: { outcome: 'refused' | 'failed'; code: string }): void =>
      (outcome === 'refused' ? refusals : failures).inc({ code }),
    rateLimited: (limit: string): void => limited.inc({ limit }),
    /** Counts one call of a provider. `stamps`: the number of stamps that it was for. */
    stamped: (call: { provider: string; outcome: 'stamped' | 'failed' | 'refused'; seconds: number; stamps: number }): void => {
      const { provider, outcome, seconds: took, stamps: count } = call;
      for (let stamp = 0; stamp < count; stamp += 1) stamps.observe({ provider, outcome }, took);
      if (outcome === 'stamped') leaves.observe({ provider }, count);
    },
    mailed: (outcome: 'sent' | 'deferred' | 'failed'): void => mails.inc({ outcome }),
    jobFailed: (job: string): void => jobs.inc({ job }),
    /** Counts the results of a renewal run. `due`: evidence that is still due. `unknown`: evidence that could not be judged. */
    renewed: (run: { renewed: number; lapsed: number; asks: number; due: number; unknown: number }): void => {
      renewals.inc({ outcome: 'renewed' }, run.renewed);
      renewals.inc({ outcome: 'lapsed' }, run.lapsed);
      renewals.inc({ outcome: 'asked' }, run.asks);
      due.set(run.due);
      unknown.set(run.unknown);
    },
    read: async (sources: MetricSources): Promise<{ body: string; contentType: string }> => {
      await collect(sources);
      return { body: await registry.metrics(), contentType: registry.contentType };
    },
  };
}

/**
 * Serves `GET /metrics` on its own port, if there is a `METRICS_PORT`, until the process ends. With port 0, the system chooses a free port.
 *
 * @throws ConfigError if the port is taken
 */
export async function serveMetrics(
  { config: { HOST: host, METRICS_PORT: port }, log, lifecycle }: ProcessContext<Config>,
  metrics: Metrics,
  sources: MetricSources,
): Promise<void> {
  if (port === undefined) return;
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    metrics.read(sources).then(
      ({ body, contentType }) => response.writeHead(200, { 'Content-Type': contentType }).end(body),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new ConfigError(
      `METRICS_PORT: got "${port}"; the service cannot listen on it (${error instanceof Error ? error.message : error})`,
    );
  }
  lifecycle.onClose('metrics', () => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address() as AddressInfo;
  log.info({ metricsUrl: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}/metrics` }, 'metrics are served');
}
