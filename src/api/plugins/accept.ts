/** The weight that a client gives a media type (RFC 9110 §12.5.1): of the ranges that fit, the most specific counts. */
function weightOf(accept: string, type: string): number {
  const [group] = type.split('/');
  const ranges = accept.split(',').map((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    return { name, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 };
  });
  for (const fitting of [type, `${group}/*`, '*/*']) {
    const found = ranges.find(({ name }) => name === fitting);
    if (found) return found.weight;
  }
  return 0;
}

/** Whether a client would rather have a page than JSON, as browsers say; who says nothing gets JSON. */
export function prefersPage(accept: string | undefined): boolean {
  return accept !== undefined && weightOf(accept, 'text/html') > weightOf(accept, 'application/json');
}

/** Whether a client would rather have JSON than a page; who says nothing gets a page. */
export function prefersJson(accept: string | undefined): boolean {
  return accept !== undefined && weightOf(accept, 'application/json') > weightOf(accept, 'text/html');
}
