interface Preference {
  /** What the client gives the media type, 0 for one that it does not take. */
  readonly weight: number;
  /** How exactly it was named: 2 by its name, 1 by its group, 0 by anything or not at all. */
  readonly specificity: number;
}

/** What a client says of a media type (RFC 9110 §12.5.1): of the ranges that fit, the most specific counts. */
function preferenceFor(accept: string, type: string): Preference {
  const [group] = type.split('/');
  const ranges = accept.split(',').map((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    return { name, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 };
  });
  for (const [index, fitting] of [type, `${group}/*`, '*/*'].entries()) {
    const found = ranges.find(({ name }) => name === fitting);
    if (found) return { weight: found.weight, specificity: 2 - index };
  }
  return { weight: 0, specificity: 0 };
}

/** Of two that weigh the same the client prefers the one that it names: `application/json, anything else` asks for JSON. */
function prefers(accept: string, type: string, other: string): boolean {
  const [wanted, alternative] = [preferenceFor(accept, type), preferenceFor(accept, other)];
  if (wanted.weight !== alternative.weight) return wanted.weight > alternative.weight;
  return wanted.weight > 0 && wanted.specificity > alternative.specificity;
}

/** Whether a client would rather have a page than JSON, as browsers say; who says nothing gets JSON. */
export function prefersPage(accept: string | undefined): boolean {
  return accept !== undefined && prefers(accept, 'text/html', 'application/json');
}

/** Whether a client would rather have JSON than a page; who says nothing gets a page. */
export function prefersJson(accept: string | undefined): boolean {
  return accept !== undefined && prefers(accept, 'application/json', 'text/html');
}
