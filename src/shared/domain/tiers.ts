/** What is done with what is stamped: `basic` the hash, `plus` hash and verify address, `sealed` the content is kept too. */
export const stampTiers = ['basic', 'plus', 'sealed'] as const;
export type StampTier = (typeof stampTiers)[number];
