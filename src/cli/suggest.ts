/** The number of characters to insert, delete, replace or swap with their neighbour, to turn one word into the other. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? rows[i - 2]![j - 2]! + 1 : replaced;
      row.push(Math.min(replaced, swapped, rows[i - 1]![j]! + 1, row[j - 1]! + 1));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}

/** The name that the user most likely meant; undefined if no name is similar. */
function closestOf(given: string, names: readonly string[]): string | undefined {
  const most = given.length < 4 ? 1 : 2;
  const [best] = names
    .map((name) => ({ name, far: distance(given.toLowerCase(), name) }))
    .filter(({ far }) => far <= most)
    .sort((a, b) => a.far - b.far);
  return best?.name;
}

/** The end of an error sentence about `given`: `; did you mean --force?`, or nothing. */
export function didYouMean(given: string | undefined, names: readonly string[], prefix = ''): string {
  const closest = given === undefined ? undefined : closestOf(given, names);
  return closest === undefined ? '' : `; did you mean ${prefix}${closest}?`;
}
