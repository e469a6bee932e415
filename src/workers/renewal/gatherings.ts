import type { Candidate } from './renewal-tree.ts';

/** The candidates for one tree. All have the same algorithm, and all need a qualified TSA or none does. */
export interface Gathering {
  readonly kind: TokenKind;
  readonly candidates: readonly Candidate[];
}

export interface TokenKind {
  readonly algorithm: Candidate['algorithm'];
  readonly requiresQualified: boolean;
}

export const keyOf = ({ algorithm, requiresQualified }: TokenKind): string => `${algorithm}${requiresQualified ? ' qualified' : ''}`;

/** Collects candidates for trees of at most `mostLeaves`, and signs each tree as soon as it is full. */
export function createGatherings(mostLeaves: number, sign: (gathering: Gathering) => Promise<void>) {
  const open = new Map<string, { readonly kind: TokenKind; readonly candidates: Candidate[] }>();
  return {
    add: async (kind: TokenKind, candidate: Candidate): Promise<void> => {
      const key = keyOf(kind);
      const gathering = open.get(key) ?? { kind, candidates: [] };
      open.set(key, gathering);
      if (gathering.candidates.push(candidate) < mostLeaves) return;
      open.delete(key);
      await sign(gathering);
    },
    /** Signs the trees that are not full. */
    signAll: async (): Promise<void> => {
      for (const gathering of open.values()) await sign(gathering);
      open.clear();
    },
  };
}
