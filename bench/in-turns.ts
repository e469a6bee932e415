import type { LoadResult } from './load.ts';
import { median } from './median.ts';

export interface Turns {
  readonly rounds: number;
  readonly seconds: number;
  /**
   * The load before the first measurement, until all connections are open and most code is compiled. qstamp has more code than the others: after 8 s
   * some of it was not compiled.
   */
  readonly warmUpSeconds: number;
}

/** The seconds of load before each measurement, so that the previous turn has no effect. */
const leadSeconds = 1;

export interface Measured<Contender> {
  /** The results of all rounds. */
  resultsOf(contender: Contender): readonly LoadResult[];
  /** The median of a value over all rounds. */
  medianOf(contender: Contender, figure: (result: LoadResult) => number): number;
  /** The median of the ratios of two rates, each from two turns of the same round. */
  ratio(contender: Contender, other: Contender): number;
}

/**
 * Measures contenders that all run all the time and get load in turns, in reverse order in every second round. Only turns of the same round are
 * compared, because a machine's speed may change within minutes. `loadFor` puts one contender under load for the given time.
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
