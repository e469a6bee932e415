import { qualifiedVerdictOf } from '../shared/contract/verify.ts';
import { qualifiedSentence } from '../shared/domain/qualification.ts';
import { ServiceError } from '../shared/domain/service-error.ts';
import { connectProducer, disconnect, untilReady } from '../shared/redis/connection.ts';
import { openProviderNotes, type ProviderNotes } from '../shared/redis/provider-notes.ts';
import { type Environment, loadRedisSettings, parseSettings, type RedisSettings, settingsSchema } from '../shared/runtime/config.ts';
import { createLogger, type Logger } from '../shared/runtime/log.ts';
import { systemClock } from '../shared/runtime/timers.ts';
import { openStore } from '../shared/store/store.ts';
import { readListsInForce } from '../shared/store/trusted-lists.ts';
import { usesTrustedLists } from '../shared/trust/list-sources.ts';
import type { ListIndex } from '../shared/trust/lists/index.ts';
import type { QualifiedSetting } from '../shared/trust/providers-file.ts';
import { loadTrustSettings, type TrustedProvider, trustSettingsSchema } from '../shared/trust/trusted-providers.ts';
import { checkProvider, createListings, openTsas, type ProviderCheck } from '../workers/providers/index.ts';
import type { Operator, OperatorExitCode } from './operator.ts';

/** Asks each configured provider for one stamp, which is not stored. */
export async function checkProviders({ environment, json, print, stderr }: Operator): Promise<OperatorExitCode> {
  const { providers } = loadTrustSettings(parseSettings(trustSettingsSchema, environment));
  if (providers.length === 0) {
    stderr.write('TSP is mock: the workers make its stamps themselves, so there is no provider to ask\n');
    return 0;
  }
  const log = createLogger({ level: 'silent', process: 'worker' });
  const lists = await readLists(environment, log);
  await using opened = new AsyncDisposableStack();
  const notes = isCounted(providers) ? await connectNotes(opened, providers, loadRedisSettings(environment), log) : undefined;
  const tsas = await openTsas(providers, { notes, listings: lists && createListings(() => lists), clock: systemClock, log });
  const checks = await Promise.all(
    tsas.map(async (tsa) => {
      const stamp: Parameters<typeof checkProvider>[0]['stamp'] = (subject) => tsa.stamp(subject, AbortSignal.timeout(tsa.timeoutMs));
      const check = await checkProvider({ ...tsa, stamp }, systemClock);
      tsa.close();
      return check;
    }),
  );
  for (const [i, check] of checks.entries()) {
    const asked = { check, setting: providers[i]!.settings.qualified, areListsAsked: lists !== undefined };
    print(json ? jsonOf(asked) : linesOf(asked), check.verdict === 'failed');
  }
  return checks.some(({ verdict }) => verdict === 'failed') ? 1 : 0;
}

/** A check, and what the command knows about the provider otherwise. */
interface AskedProvider {
  readonly check: ProviderCheck;
  /** `qualified` in the providers file. */
  readonly setting: QualifiedSetting;
  readonly areListsAsked: boolean;
}

/** Returns undefined if the service does not use trusted lists, or if there is no MONGODB_URL. @throws ServiceError `store_unavailable` */
async function readLists(environment: Environment, log: Logger): Promise<ListIndex | undefined> {
  const hasStore = environment.MONGODB_URL || environment.MONGODB_URL_FILE;
  if (!hasStore || !usesTrustedLists(parseSettings(trustSettingsSchema, environment))) return undefined;
  await using opened = new AsyncDisposableStack();
  const settings = parseSettings(settingsSchema.pick({ MONGODB_URL: true, MASTER_KEY: true }), environment);
  const store = opened.adopt(openStore(settings, log), ({ close }) => close());
  return await readListsInForce(store.trustedLists);
}

/** Whether the provider is qualified, by whose word, and whether the providers file says something else. */
function qualifiedText({ check: { isQualified, qualification, verdict }, setting, areListsAsked }: AskedProvider): string {
  if (verdict !== 'ok' || !qualification) return verdict === 'ok' && !isQualified ? 'no' : 'not verified';
  const said = isQualified ? 'yes' : 'no';
  if (qualification.basis === 'list') {
    const contradicts = setting !== 'from_list' && setting !== isQualified;
    const why = qualifiedSentence(qualification).replace(/^(Q|Not q)ualified: /, '');
    return `${said}${contradicts ? `, although the providers file says ${setting ? 'yes' : 'no'}` : ''}: ${why}`;
  }
  if (setting === false) return 'no';
  const noList = areListsAsked ? 'no trusted list in force has it' : 'no trusted list was asked';
  return `${isQualified ? 'as configured' : said}; ${noList}`;
}

function clockOf({ clock, clockDifferenceMs: differenceMs }: ProviderCheck): string | null {
  if (clock === 'unchecked') return 'ours, unchecked';
  const [whose, other] = clock ? ['ours, ', 'that of others'] : ['', 'ours'];
  if (differenceMs === null) return clock ? 'ours, and nothing confirms it' : null;
  if (differenceMs === 0) return `${whose}as ${other}`;
  return `${whose}${Math.abs(differenceMs)} ms ${differenceMs > 0 ? 'ahead of' : 'behind'} ${other}`;
}

function linesOf(asked: AskedProvider): string {
  const { check } = asked;
  const { provider, verdict, fault, latencyMs, certificate, policy, rate } = check;
  const isAsked = verdict !== 'not_asked';
  const facts = {
    certificate: certificate && `${certificate.subject}, valid until ${certificate.validUntil}`,
    policy,
    clock: clockOf(check),
    latency: isAsked ? `${latencyMs} ms` : null,
    qualified: qualifiedText(asked),
    requests: rate ? requestsOf(rate) : null,
  };
  const shown = Object.entries(facts).flatMap(([name, value]) => (value === null ? [] : [`  ${name.padEnd(12)}${value}\n`]));
  const said = isAsked ? verdict : 'not asked';
  return `${provider}: ${fault === null ? said : `${said}: ${fault}`}\n${shown.join('')}`;
}

function requestsOf({ requests, perSeconds, left, nextInMs }: NonNullable<ProviderCheck['rate']>): string {
  const next = nextInMs > 0 ? `; the next may go at ${nextAtOf(nextInMs)}` : '';
  return `${left} of ${requests} in ${perSeconds} s left${next}`;
}

const nextAtOf = (nextInMs: number): string => new Date(Date.now() + nextInMs).toISOString();

function jsonOf({ check, areListsAsked }: AskedProvider): string {
  const { provider, isQualified, qualification, verdict, fault, latencyMs, certificate, policy, clockDifferenceMs, clock, rate } = check;
  return `${JSON.stringify({
    provider,
    is_qualified: isQualified,
    ...(areListsAsked && { qualified: qualification ? qualifiedVerdictOf(qualification) : null }),
    verdict,
    fault,
    certificate: certificate && { subject: certificate.subject, valid_until: certificate.validUntil },
    policy,
    clock_difference_ms: clockDifferenceMs,
    latency_ms: latencyMs,
    ...(clock && { clock }),
    ...(rate && {
      rate: { requests: rate.requests, per_seconds: rate.perSeconds, left: rate.left },
      next_request_at: rate.nextInMs > 0 ? nextAtOf(rate.nextInMs) : null,
    }),
  })}\n`;
}

/** Whether requests to one of these providers are counted, so that a command needs Redis. */
const isCounted = (providers: readonly TrustedProvider[]): boolean => providers.some(({ settings }) => settings.rate);

/**
 * Opens the notes about providers that all workers share. `opened` closes the connection.
 *
 * @throws ServiceError `queue_unavailable` if requests are counted and Redis does not answer
 */
export async function connectNotes(
  opened: AsyncDisposableStack,
  providers: readonly TrustedProvider[],
  redisSettings: RedisSettings,
  log: Logger,
): Promise<ProviderNotes> {
  const redis = opened.adopt(connectProducer(redisSettings, log), disconnect);
  await untilReady(redis);
  if (isCounted(providers) && redis.status !== 'ready') throw new ServiceError('queue_unavailable', 'REDIS_URL: Redis does not answer.');
  return openProviderNotes({ redis, log });
}
