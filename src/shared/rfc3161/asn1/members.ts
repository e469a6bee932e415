import { refuse } from '../refusal/refusal.ts';
import type { Der } from './der.ts';
import { TAG } from './tags.ts';

/** Walks through the members of a SEQUENCE in their order. */
export interface Members {
  /** The next member, which must have this tag. */
  take(tag: number, name: string): Der;
  /** The next member if it has this tag; otherwise it stays the next one. */
  optional(tag: number): Der | undefined;
  /** The next member, whatever it is: for a CHOICE. */
  any(name: string): Der;
  /** @throws Refusal `der_trailing` when there are more */
  end(): void;
}

/** @throws Refusal `der_malformed` when `element` is not a SEQUENCE (or of the other `tag`) */
export function membersOf(element: Der, name: string, tag: number = TAG.sequence): Members {
  if (element.tag !== tag) refuse('der_malformed', `${name} is of another type.`);
  const { children } = element;
  let next = 0;
  const any = (member: string): Der => children[next++] ?? refuse('der_malformed', `${name} has no ${member}.`);
  return {
    any,
    take: (expected, member) => {
      const child = any(member);
      return child.tag === expected ? child : refuse('der_malformed', `${member} of ${name} is missing or of another type.`);
    },
    optional: (expected) => (children[next]?.tag === expected ? children[next++] : undefined),
    end: () => {
      if (next !== children.length) refuse('der_trailing', `${name} has more members than it may have.`);
    },
  };
}

/** The only element inside an EXPLICIT tag. */
export function inside(element: Der, name: string): Der {
  const [only, more] = element.children;
  if (only === undefined) refuse('der_malformed', `${name} is empty.`);
  if (more !== undefined) refuse('der_trailing', `${name} has more than one element.`);
  return only;
}
