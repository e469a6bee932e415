import type { Logger } from '../../shared/runtime/log.ts';
import type { ProviderCheck } from './check.ts';

/** How often those are asked again that did not answer yet, or failed since; an open breaker lets none of it through. */
const checkEveryMs = 5_000;

/**
 * Asks each provider once, at once and in the background, and from then on whoever `check` finds doubtful. A line for each tells what it
 * said, and another only when its verdict changes.
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
