import type { ClockState } from '../../shared/domain/service-state.ts';
import type { ProviderHealth } from '../../shared/queue/heartbeat.ts';

const worstFirst: readonly ClockState[] = ['off', 'unknown', 'unchecked', 'ok'];

/** What the workers say of the clocks that keys of one's own stamp by: the worst of it; undefined where there is no such key. */
export function worstClockOf(views: readonly ProviderHealth[]): { state: ClockState; driftMs: number | null } | undefined {
  const clocks = views.flatMap(({ clock }) => clock ?? []);
  const state = worstFirst.find((each) => clocks.some((clock) => clock.state === each));
  if (state === undefined) return undefined;
  const drifts = clocks.flatMap(({ driftMs }) => driftMs ?? []).sort((a, b) => Math.abs(b) - Math.abs(a));
  return { state, driftMs: drifts[0] ?? null };
}
