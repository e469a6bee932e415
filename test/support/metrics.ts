import type { Part } from './service.ts';

export const metricsUrl = ({ output }: Pick<Part, 'output'>): string => /"metricsUrl":"([^"]+)"/.exec(output())?.[1] ?? '';

/** The metrics of a process that Prometheus would read. */
export const scrape = async (from: Pick<Part, 'output'>): Promise<string> => (await fetch(metricsUrl(from))).text();

/** The value of one line of the text format. */
export const seriesValue = (text: string, series: string): number | undefined => {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
};

/** The series of some metrics, each with its value. */
export const seriesOf = (text: string, ...names: string[]): Record<string, number> =>
  Object.fromEntries(
    text
      .split('\n')
      .filter((line) => names.some((name) => line.startsWith(`${name}{`)))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))] as const),
  );
