import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { isFaults } from '../support/depth.ts';
import { runFault } from '../support/fault-run.ts';
import { prepareMovedClocks } from '../support/moved-clock.ts';
import { eventually, randomHash, stampInternal } from '../support/requests.ts';
import { type Service, type ServiceProcess, startProcesses } from '../support/service.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';

const hourMs = 3_600_000;

/** With a TSA whose clock is right. So a worker whose clock is ahead refuses its tokens. */
async function startLab() {
  const clocks = prepareMovedClocks();
  onTestFinished(clocks.dispose);
  const settings = {
    ...providersSettings([{ tsa: await startTsa() }]),
    RATE_WORKFLOW_START_PER_HOUR: '0',
    RATE_WORKFLOW_STAMP_PER_MINUTE: '0',
    ...clocks.settings,
  };
  return { clocks, service: await startProcesses({ settings }) };
}

test.runIf(isFaults).each([
  ['the worker', (service: Service<ServiceProcess>) => service.workers[0]!],
  ['the API', (service: Service<ServiceProcess>) => service.api()],
])(
  'E14: the clock of %s an hour ahead for 3 s: no stamp is lost or doubled, and soon after every answer is 201 again',
  async (name, partOf) => {
    const { clocks, service } = await startLab();
    const { pid } = partOf(service);
    const counted = await runFault({
      name,
      service,
      clients: 16,
      fault: async () => {
        clocks.set(pid, hourMs);
        await delay(3_000);
        clocks.set(pid, 0);
      },
    });
    console.table({ [name]: counted });
    expect(counted).toMatchObject({ lost: 0, doubled: 0, false503: 0, miscountedStill: 0 });
    const statuses = () =>
      Promise.all(Array.from({ length: 16 }, async () => (await stampInternal(service, { hash: randomHash() })).status));
    await eventually(async () => (await statuses()).every((status) => status === 201), 60_000);
  },
);
