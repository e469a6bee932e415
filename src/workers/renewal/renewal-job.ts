import type { Metrics } from '../../shared/runtime/metrics.ts';
import type { CounterStore } from '../../shared/store/counters.ts';
import type { EvidenceTermStore } from '../../shared/store/evidence-terms.ts';
import { type FindTermsDeps, findTerms } from './find-terms.ts';
import { type RenewalDeps, type RenewalOutcome, renewEvidence } from './renew-evidence.ts';

export interface RenewProcessorDeps extends RenewalDeps, FindTermsDeps {
  readonly evidenceTerms: EvidenceTermStore;
  readonly counters: Pick<CounterStore, 'add'>;
  readonly metrics?: Pick<Metrics, 'renewed'>;
}

/** The numbers that remain after a run: evidence that is still due, and evidence that cannot be judged. */
export interface RunNotes {
  readonly due: number;
  readonly unknown: number;
}

/**
 * Renews due evidence and records how much remains. Work done before a failure is counted too.
 *
 * @throws ServiceError `store_unavailable`, ProviderError: the job is retried and continues
 */
export function createRenewProcessor(deps: RenewProcessorDeps): () => Promise<RenewalOutcome & RunNotes> {
  const { evidenceTerms, counters, metrics, renewBeforeMs, clock, log } = deps;

  async function note(done: RenewalOutcome): Promise<RunNotes> {
    if (done.renewed > 0) counters.add({ renewed: done.renewed }, clock());
    const { due, unknown = 0 } = await evidenceTerms.noteRun(new Date(clock()), new Date(clock() + renewBeforeMs));
    metrics?.renewed({ ...done, due, unknown });
    if (done.renewed + done.lapsed + done.asks + due + unknown > 0)
      log.info({ ...done, due, unknown }, 'finished a search for evidence to renew');
    return { due, unknown };
  }

  return async () => {
    const done = { renewed: 0, lapsed: 0, asks: 0 };
    try {
      await findTerms(deps);
      await renewEvidence(deps, done);
    } catch (error) {
      await note(done).catch((cause: unknown) => log.debug({ err: cause }, 'the result of a renewal run could not be stored'));
      throw error;
    }
    return { ...done, ...(await note(done)) };
  };
}
