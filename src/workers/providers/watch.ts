import type { Logger } from '../../shared/runtime/log.ts';
import type { ProviderCheck } from './check.ts';

/** How often providers that have not answered or have failed are asked again. An open circuit breaker stops these calls too. */
const checkEveryMs = 5_000;

/**
 * A watch that is `idle` asks when its time comes. While it is `asking`, no second round begins. Once it is `stopped`, it asks no more, and the
 * answers of a round under way are not reported.
 */
type WatchState = 'idle' | 'asking' | 'stopped';

/**
 * Asks every provider once at start, in the background, and later those for which `check` sees a need. Logs the result of each, and then
 * only changes.
 */
export function watchProviders({ check, log }: { check: () => Promise<readonly ProviderCheck[]>; log: Logger }): { stop(): void } {
  const verdicts = new Map<string, ProviderCheck['verdict']>();
  let state: WatchState = 'idle';
  const report = (asked: ProviderCheck) => {
    const { provider, verdict } = asked;
    if (verdicts.get(provider) === verdict) return;
    verdicts.set(provider, verdict);
    if (verdict === 'ok') log.info(asked, `provider ${provider} was asked: it answers`);
    else log.warn(asked, `provider ${provider} was asked: it failed`);
  };
  const isStopped = () => state === 'stopped';
  const ask = async () => {
    if (state !== 'idle') return;
    state = 'asking';
    const answers = await check();
    if (isStopped()) return;
    state = 'idle';
    answers.forEach(report);
  };
  void ask();
  const timer = setInterval(() => void ask(), checkEveryMs);
  return {
    stop: () => {
      state = 'stopped';
      clearInterval(timer);
    },
  };
}
