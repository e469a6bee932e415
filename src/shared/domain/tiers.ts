/** The tiers of a stamp. `basic` keeps the hash, `plus` the hash and a verify address, `sealed` also the content. */
export const stampTiers = ['basic', 'plus', 'sealed'] as const;
export type StampTier = (typeof stampTiers)[number];

/** The tiers of a workflow (W1). `verified` requires a verified e-mail address, `qualified` also qualified stamps. */
export const workflowTiers = ['standard', 'verified', 'qualified'] as const;
export type WorkflowTier = (typeof workflowTiers)[number];

/** Returns true if outputs may be stamped only after the client has verified the e-mail address (W2). */
export const needsVerifiedEmail = (tier: WorkflowTier): boolean => tier !== 'standard';

/** Returns true if every stamp must come from a qualified provider (W2). */
export const needsQualifiedProvider = (tier: WorkflowTier): boolean => tier === 'qualified';
