/** How a stamp request can come in. */
export const callerKinds = ['internal', 'agent', 'workflow', 'mcp', 'tsa'] as const;
export type CallerKind = (typeof callerKinds)[number];

/** Who asked for a stamp: counted by kind, listed by product (S12). */
export interface Caller {
  readonly kind: CallerKind;
  readonly product?: string | undefined;
}
