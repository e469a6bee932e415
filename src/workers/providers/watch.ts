import type { Logger } from '../../shared/runtime/log.ts';
import type { ProviderCheck } from './check.ts';

/** How often providers that have not answered or have failed are asked again. An open circuit breaker stops these calls too. */
const checkEveryMs = 5_000;

/**
 * Asks every provider once at start, in the background, and later those for which `check` sees a need. Logs the result of each, and then
 * only changes.
 */
export function watchProviders({ check, log }: { check: () => Promise<readonly ProviderCheck[]>; log: Logger }): { stop(): void } {
  const verdicts = new Map<string, ProviderCheck['verdict']>();
  let isAsking = false;
  let isStopped = false;
  const report = (asked: ProviderCheck) => {
    const { provider, verdict } = asked;
    if (verdicts.get(provider) === verdict) return;
    verdicts.set(provider, verdict);
    if (verdict === 'ok') log.info(asked, `provider ${provider} was asked: it answers`);
    else log.warn(asked, `provider ${provider} was asked: it failed`);
  };
  const ask = async () => {
    if (isAsking) return;
    isAsking = true;
    const answers = await check();
    isAsking = false;
    if (!isStopped) answers.forEach(report);
  };
  void ask();
  const timer = setInterval(() => void ask(), checkEveryMs);
  return {
    stop: () => {
      isStopped = true;
      clearInterval(timer);
    },
  };
}
