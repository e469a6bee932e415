import type { Durability } from '../shared/domain/service-state.ts';
import type { Heartbeat } from '../shared/queue/heartbeat.ts';
import type { QueueState } from '../shared/queue/queue-state.ts';
import type { JobSender } from '../shared/queue/sender.ts';
import type { Clock } from '../shared/runtime/clock.ts';
import type { Config } from '../shared/runtime/config.ts';
import type { Logger } from '../shared/runtime/log.ts';
import type { Store } from '../shared/store/store.ts';
import type { TrustSettings } from '../shared/trust/trusted-providers.ts';
import { createEvidence } from './evidence/index.ts';
import type { WriteWatch } from './server/write-watch.ts';
import { createStamps, type Submission } from './stamps/index.ts';
import { createMailStateReader, createStatusServices } from './status/index.ts';
import { createTsaDoor } from './tsa-door/index.ts';
import { createVerificationServices, type StampJudge } from './verification/index.ts';
import { createWorkflowServices } from './workflows/index.ts';

/** Everything that the services need from outside. A test may replace any part. */
export interface ServicePorts {
  readonly config: Config;
  readonly store: Omit<Store, 'batches' | 'renewals' | 'evidenceTerms' | 'newDigests' | 'openKeys' | 'checkWrite' | 'prepare' | 'close'> & {
    readonly evidenceTerms: Pick<Store['evidenceTerms'], 'readState'>;
    readonly newDigests: Pick<Store['newDigests'], 'insertOnce'>;
  };
  readonly submission: Submission;
  readonly jobs: JobSender;
  readonly writes: WriteWatch;
  readonly pingRedis: () => Promise<unknown>;
  readonly readHeartbeats: (nowMs: number) => Promise<Heartbeat[]>;
  readonly readQueueState: () => Promise<QueueState>;
  readonly readDurability: () => Promise<Durability>;
  readonly trust: TrustSettings;
  readonly stampJudge: StampJudge;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Creates the functions that routes and tools call. Each capability creates its own. */
export function createServices(ports: ServicePorts) {
  const readMailState = createMailStateReader(ports);
  // Mails are retried for an hour (W12), so only a missing mail server counts as unable to send.
  const canSendMail = async () => (await readMailState()) !== 'not_configured';
  const stamps = createStamps(ports);
  const { workflows } = createWorkflowServices({ ...ports, canSendMail }, stamps);
  return {
    ...stamps,
    ...createVerificationServices(ports),
    workflows,
    ...createEvidence(ports, workflows),
    tsaDoor: createTsaDoor({ ...ports, ...stamps }),
    ...createStatusServices(ports),
  };
}

export type Services = ReturnType<typeof createServices>;
