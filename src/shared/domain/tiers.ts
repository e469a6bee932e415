/** What is done with what is stamped: `basic` the hash, `plus` hash and verify address, `sealed` the content is kept too. */
export const stampTiers = ['basic', 'plus', 'sealed'] as const;
export type StampTier = (typeof stampTiers)[number];

/** How much a workflow asks before it goes on (W1). */
export const workflowTiers = ['standard', 'verified', 'qualified'] as const;
export type WorkflowTier = (typeof workflowTiers)[number];

/** Whether outputs may be stamped only once the e-mail is verified (W2). */
export const needsVerifiedEmail = (tier: WorkflowTier): boolean => tier !== 'standard';

/** Whether every stamp must come from a qualified provider (W2). */
export const needsQualifiedProvider = (tier: WorkflowTier): boolean => tier === 'qualified';
