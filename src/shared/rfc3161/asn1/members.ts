import { refuse } from '../refusal/refusal.ts';
import type { Der } from './der.ts';
import { TAG } from './tags.ts';

/** Reads the members of a SEQUENCE in order. A token has twenty of them: as closures they would need a third of its memory. */
class Members {
  readonly #name: string;
  readonly #children: readonly Der[];
  #next = 0;

  constructor(name: string, children: readonly Der[]) {
    this.#name = name;
    this.#children = children;
  }

  /** The next member, of any type: for a CHOICE. */
  any(member: string): Der {
    return this.#children[this.#next++] ?? refuse('der_malformed', `${this.#name} has no ${member}.`);
  }

  /** The next member, which must have this tag. */
  take(tag: number, member: string): Der {
    const child = this.any(member);
    return child.tag === tag ? child : refuse('der_malformed', `${member} of ${this.#name} is missing or of another type.`);
  }

  /** The next member if it has this tag; otherwise it stays next. */
  optional(tag: number): Der | undefined {
    return this.#children[this.#next]?.tag === tag ? this.#children[this.#next++] : undefined;
  }

  /** @throws Refusal `der_trailing` if there are more */
  end(): void {
    if (this.#next !== this.#children.length) refuse('der_trailing', `${this.#name} has more members than it may have.`);
  }
}

export type { Members };

/** @throws Refusal `der_malformed` if `element` is not a SEQUENCE (or does not have the other `tag`) */
export function membersOf(element: Der, name: string, tag: number = TAG.sequence): Members {
  if (element.tag !== tag) refuse('der_malformed', `${name} is of another type.`);
  return new Members(name, element.children);
}

/** The only element inside an EXPLICIT tag. */
export function inside(element: Der, name: string): Der {
  const [only, more] = element.children;
  if (only === undefined) refuse('der_malformed', `${name} is empty.`);
  if (more !== undefined) refuse('der_trailing', `${name} has more than one element.`);
  return only;
}
