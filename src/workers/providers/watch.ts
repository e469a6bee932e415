import type { Logger } from '../../shared/runtime/log.ts';
import type { ProviderCheck } from './check.ts';

/** How often providers that have not answered or have failed are asked again. An open circuit breaker also stops these calls. */
const checkEveryMs = 5_000;

/**
 * `idle`: the next round begins when the timer fires. `asking`: a round is in progress, and no second round begins. `stopped`: no round begins, and
 * the answers of a round in progress are not reported.
 */
type WatchState = 'idle' | 'asking' | 'stopped';

/**
 * Sends a test request to every provider at start, in the background, and later to those that `check` selects. Logs the first result of each, and
 * then only changes.
 */
export function watchProviders({ check, log }: { check: () => Promise<readonly ProviderCheck[]>; log: Logger }): { stop(): void } {
  const verdicts = new Map<string, ProviderCheck['verdict']>();
  let state: WatchState = 'idle';
  const report = (asked: ProviderCheck) => {
    const { provider, verdict } = asked;
    if (verdict === 'not_asked' || verdicts.get(provider) === verdict) return;
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
