import type { Der } from '../asn1/der.ts';
import { integerOf } from '../asn1/der-values.ts';
import { membersOf } from '../asn1/members.ts';
import { TAG } from '../asn1/tags.ts';
import { refuse } from '../refusal/refusal.ts';

/** The names that a CA may certify (RFC 5280 §4.2.1.10). */
export interface NameConstraints {
  /** GeneralNames. If there are some of a kind, every name of this kind must be within one of them. */
  readonly permitted: readonly Der[];
  /** GeneralNames. No name may be within one of them. */
  readonly excluded: readonly Der[];
}

/** The tags of those kinds of GeneralName (RFC 5280 §4.2.1.6) for which constraints are supported. */
export const NAME_TAG = {
  mail: TAG.context(1),
  dns: TAG.context(2),
  directory: TAG.contextConstructed(4),
  uri: TAG.context(6),
  ip: TAG.context(7),
} as const;

export function nameConstraintsOf(value: Der): NameConstraints {
  const members = membersOf(value, 'nameConstraints');
  const [permitted, excluded] = [0, 1].map((number) => (members.optional(TAG.contextConstructed(number))?.children ?? []).map(baseOf));
  members.end();
  return { permitted: permitted!, excluded: excluded! };
}

/** Reads the base of a GeneralSubtree. `minimum` must be 0, and there must be no `maximum` (RFC 5280 §4.2.1.10). */
function baseOf(subtree: Der): Der {
  const members = membersOf(subtree, 'GeneralSubtree');
  const base = members.any('base');
  const minimum = members.optional(TAG.context(0));
  members.end();
  if (minimum !== undefined && integerOf(minimum, 'minimum') !== 0n)
    refuse('certificate_malformed', 'A subtree of names starts below its base.');
  if (base.tag === NAME_TAG.ip && ![8, 32].includes(base.end - base.content)) {
    refuse('certificate_malformed', 'A range of IP addresses is not an address and a mask.');
  }
  return base;
}
