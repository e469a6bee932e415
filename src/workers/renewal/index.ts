import type { RenewalTools } from '../tools.ts';
import { findTerms } from './find-terms.ts';
import { dueByOf, type RenewalOptions, type RenewalOutcome, renewEvidence } from './renew-evidence.ts';

/** The numbers that remain after a run: evidence that is still due, and evidence that cannot be judged. */
interface RunNotes {
  readonly due: number;
  readonly unknown: number;
}

/**
 * Renews due evidence and records how much remains. Work done before a failure is counted too.
 *
 * @throws ServiceError `store_unavailable`, ProviderError: the job is retried and continues
 */
export async function runRenewal(tools: RenewalTools, options?: RenewalOptions): Promise<RenewalOutcome & RunNotes> {
  const done = { renewed: 0, lapsed: 0, asks: 0 };
  try {
    await findTerms(tools);
    await renewEvidence(tools, done, options);
  } catch (error) {
    await note(tools, done).catch((cause: unknown) => tools.log.debug({ err: cause }, 'the result of a renewal run could not be stored'));
    throw error;
  }
  return { ...done, ...(await note(tools, done)) };
}

async function note({ config, store, metrics, clock, log }: RenewalTools, done: RenewalOutcome): Promise<RunNotes> {
  if (done.renewed > 0) store.counters.add({ renewed: done.renewed }, clock());
  const { due, unknown = 0 } = await store.evidenceTerms.noteRun(new Date(clock()), dueByOf(config, clock()));
  metrics?.renewed({ ...done, due, unknown });
  if (done.renewed + done.lapsed + done.asks + due + unknown > 0)
    log.info({ ...done, due, unknown }, 'finished a search for evidence to renew');
  return { due, unknown };
}
