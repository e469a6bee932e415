import { refuse } from '../refusal/refusal.ts';
import type { Der } from './der.ts';
import { TAG } from './tags.ts';

/** Reads the members of a SEQUENCE in order. It is a class because a token has about twenty SEQUENCEs: closures for them would need too much memory. */
class Members {
  readonly #name: string;
  readonly #children: readonly Der[];
  #next = 0;

  constructor(name: string, children: readonly Der[]) {
    this.#name = name;
    this.#children = children;
  }

  /** Returns the next member, whatever its type: for a CHOICE. */
  any(member: string): Der {
    return this.#children[this.#next++] ?? refuse('der_malformed', `${this.#name} has no ${member}.`);
  }

  /** Returns the next member, which must have this tag. */
  take(tag: number, member: string): Der {
    const child = this.any(member);
    return child.tag === tag ? child : refuse('der_malformed', `${member} of ${this.#name} is missing or of another type.`);
  }

  /** Returns the next member if it has this tag. Otherwise returns undefined, and the member is still the next. */
  optional(tag: number): Der | undefined {
    return this.#children[this.#next]?.tag === tag ? this.#children[this.#next++] : undefined;
  }

  /** Checks that all members were read. @throws Refusal `der_trailing` if there are more members */
  end(): void {
    if (this.#next !== this.#children.length) refuse('der_trailing', `${this.#name} has more members than it may have.`);
  }
}

export type { Members };

/** Begins to read the members of a SEQUENCE, or of an element with another `tag`. @throws Refusal `der_malformed` if the element has a different tag */
export function membersOf(element: Der, name: string, tag: number = TAG.sequence): Members {
  if (element.tag !== tag) refuse('der_malformed', `${name} is of another type.`);
  return new Members(name, element.children);
}

/** Returns the only element inside an EXPLICIT tag. */
export function inside(element: Der, name: string): Der {
  const [only, more] = element.children;
  if (only === undefined) refuse('der_malformed', `${name} is empty.`);
  if (more !== undefined) refuse('der_trailing', `${name} has more than one element.`);
  return only;
}
