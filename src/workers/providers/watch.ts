import { every } from '../../shared/runtime/every.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { ProviderCheck } from './check.ts';

/** How often providers that have not answered or have failed are asked again. An open circuit breaker also stops these calls. */
const checkEveryMs = 5_000;

/**
 * Sends a test request to every provider at start, in the background, and later to those that `check` selects. Logs the first result of each, and
 * then only changes.
 */
export function watchProviders({ check, log }: { check: () => Promise<readonly ProviderCheck[]>; log: Logger }): { stop(): void } {
  const verdicts = new Map<string, ProviderCheck['verdict']>();
  const report = (asked: ProviderCheck) => {
    const { provider, verdict } = asked;
    if (verdict === 'not_asked' || verdicts.get(provider) === verdict) return;
    verdicts.set(provider, verdict);
    if (verdict === 'ok') log.info(asked, `provider ${provider} was asked: it answers`);
    else log.warn(asked, `provider ${provider} was asked: it failed`);
  };
  const stopping = new AbortController();
  const ask = async () => {
    const answers = await check();
    if (!stopping.signal.aborted) answers.forEach(report);
  };
  void every(checkEveryMs, ask, stopping.signal);
  return { stop: () => stopping.abort() };
}
