/** The interfaces through which a stamp request can come. */
export const callerKinds = ['internal', 'agent', 'workflow', 'mcp', 'tsa'] as const;
export type CallerKind = (typeof callerKinds)[number];

/** The caller that asked for a stamp. Statistics count stamps by `kind`; the list of stamps shows those of one `product` (S12). */
export interface Caller {
  readonly kind: CallerKind;
  readonly product?: string | undefined;
}
