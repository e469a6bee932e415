/** The ways in which a request for a stamp comes in. */
export const callerKinds = ['internal', 'agent', 'workflow', 'mcp', 'tsa'] as const;
export type CallerKind = (typeof callerKinds)[number];

/** Who asked for a stamp: counted by kind, listed by product (S12). */
export interface Caller {
  readonly kind: CallerKind;
  readonly product?: string | undefined;
}
