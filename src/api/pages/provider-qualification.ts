import type { ProviderStatus } from '../../shared/contract/status.ts';

/** Whether a provider's stamps are qualified, as far as one of its tokens was verified (V9). */
export type ProviderQualification = 'qualified' | 'not_qualified' | 'not_asked';

/** A provider that is configured as qualified is shown as such only once one of its tokens was verified. */
export function qualificationOf(provider: Pick<ProviderStatus, 'is_qualified' | 'last_success_at'>): ProviderQualification {
  if (provider.last_success_at === null) return 'not_asked';
  return provider.is_qualified ? 'qualified' : 'not_qualified';
}
