import type { ProviderStatus } from '../../shared/contract/status.ts';

/** Whether a provider's stamps are qualified, as far as one of its tokens was verified (V9). */
export type ProviderQualification = 'qualified' | 'not_qualified' | 'not_asked';

/** That it is not qualified is known from the configuration; that it is, only once one of its tokens was verified. */
export function qualificationOf(provider: Pick<ProviderStatus, 'is_qualified' | 'last_success_at'>): ProviderQualification {
  if (!provider.is_qualified) return 'not_qualified';
  return provider.last_success_at === null ? 'not_asked' : 'qualified';
}
