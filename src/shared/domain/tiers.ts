/** What a tier keeps: `basic` the hash, `plus` hash and verify address, `sealed` also the content. */
export const stampTiers = ['basic', 'plus', 'sealed'] as const;
export type StampTier = (typeof stampTiers)[number];

/** What a workflow requires before it continues (W1). */
export const workflowTiers = ['standard', 'verified', 'qualified'] as const;
export type WorkflowTier = (typeof workflowTiers)[number];

/** Whether outputs may be stamped only after the e-mail is verified (W2). */
export const needsVerifiedEmail = (tier: WorkflowTier): boolean => tier !== 'standard';

/** Whether every stamp must come from a qualified provider (W2). */
export const needsQualifiedProvider = (tier: WorkflowTier): boolean => tier === 'qualified';
