import type { LoadResult } from './load.ts';
import { median } from './median.ts';

export interface Turns {
  readonly rounds: number;
  readonly seconds: number;
  /** Until the connections stand and most of the code is compiled. There is more code of qstamp than of others: after 8 s some of it was not. */
  readonly warmUpSeconds: number;
}

/** Load before measuring, so that the turn before has no effect. */
const leadSeconds = 1;

export interface Measured<Contender> {
  /** What each round measured. */
  resultsOf(contender: Contender): readonly LoadResult[];
  /** The median of a figure over all rounds. */
  medianOf(contender: Contender, figure: (result: LoadResult) => number): number;
  /** The median of the ratios of the rates, each of two turns of one round. */
  ratio(contender: Contender, other: Contender): number;
}

/**
 * Measures contenders that all run all the time and are under load in turns, every second round in reverse: a machine may change its speed
 * within minutes, so only turns that follow each other are compared. `loadFor` puts one under load for so long.
 */
export async function measureInTurns<Contender>(
  contenders: readonly Contender[],
  { rounds, seconds, warmUpSeconds }: Turns,
  loadFor: (contender: Contender, seconds: number) => Promise<LoadResult>,
): Promise<Measured<Contender>> {
  for (const contender of contenders) await loadFor(contender, warmUpSeconds);
  const results = new Map<Contender, LoadResult[]>(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of round % 2 === 1 ? contenders.toReversed() : contenders) {
      await loadFor(contender, leadSeconds);
      results.get(contender)?.push(await loadFor(contender, seconds));
    }
  }
  const resultsOf = (contender: Contender) => results.get(contender) ?? [];
  return {
    resultsOf,
    medianOf: (contender, figure) => median(resultsOf(contender).map(figure)),
    ratio: (contender, other) => {
      const others = resultsOf(other);
      return median(resultsOf(contender).map(({ perSecond }, round) => perSecond / others[round]!.perSecond));
    },
  };
}
