import { expect } from 'vitest';
import { eventually, getJson } from './requests.ts';
import type { RunningService } from './service.ts';

const withinMs = 5_000;

/** Readiness and status change within 5 s of the fault or its end; the page has the note. */
export async function expectState(service: RunningService, checks: { redis: string; mongodb: string }, note: string): Promise<void> {
  const isWell = Object.values(checks).every((check) => check === 'ok');
  await eventually(async () => {
    const ready = await service.fetch('/health/ready');
    const { checks: seen } = (await ready.json()) as { checks: typeof checks };
    return ready.ok === isWell && seen.redis === checks.redis && seen.mongodb === checks.mongodb;
  }, withinMs);
  await eventually(async () => (await getJson(service, '/api/v1/status')).body.status === (isWell ? 'operational' : 'outage'), withinMs);
  if (note) expect(await (await service.fetch('/status')).text()).toContain(note);
}
