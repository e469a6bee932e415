import type { PricingResponse } from '../shared/contract/pricing.ts';
import { version } from '../shared/contract/version.ts';
import type { Durability } from '../shared/domain/service-state.ts';
import type { Heartbeat } from '../shared/queue/heartbeat.ts';
import type { JobSender } from '../shared/queue/job-sender.ts';
import type { QueueState } from '../shared/queue/queue-state.ts';
import type { StampQueue } from '../shared/queue/stamp-queue.ts';
import type { Clock } from '../shared/runtime/clock.ts';
import type { Config } from '../shared/runtime/config.ts';
import type { Logger } from '../shared/runtime/log.ts';
import type { Store } from '../shared/store/store.ts';
import { canServeQualified, namesOf, type TrustSettings } from '../shared/trust/trusted-providers.ts';
import { type CoseEvidence, createCoseEvidence } from './evidence/cose/headers.ts';
import { createEvidenceRenewals, type EvidenceRenewals } from './evidence/renewal.ts';
import type { WriteWatch } from './server/write-watch.ts';
import { type AcceptBatch, createStampBatch, type StampBatch } from './stamps/bulk-stamping.ts';
import { createIdempotency } from './stamps/idempotency.ts';
import type { ReplyWaiter } from './stamps/reply-waiter.ts';
import { createSealedDownload, type SealedDownload } from './stamps/sealed-download.ts';
import { createStatistics, type Statistics } from './stamps/stamp-list.ts';
import { createItemMaker, createStampEncryption, createStamping, type Stamping } from './stamps/stamping.ts';
import { createHealthService, type HealthService } from './status/health.ts';
import { createMailStateReader } from './status/mail-state.ts';
import { pricingOf } from './status/pricing.ts';
import { createStatusService, type StatusService } from './status/status.ts';
import { createTsaDoor, type TsaDoor } from './tsa-door/tsa-door.ts';
import { createOutcomeWait, type UntilKnown } from './verification/outcome-wait.ts';
import type { StampJudge } from './verification/stamp-judge.ts';
import { createStampPages, type StampPages } from './verification/stamp-pages.ts';
import { countVerifications, createVerification, type Verification } from './verification/verification.ts';
import { createWorkflows, type Workflows } from './workflows/workflows.ts';

/** What the services need of the world outside them; a test may stand in for each. */
export interface ServicePorts {
  readonly config: Config;
  readonly store: Omit<Store, 'batches' | 'renewals' | 'evidenceTerms' | 'newDigests' | 'openKeys' | 'checkWrite' | 'prepare' | 'close'> & {
    readonly evidenceTerms: Pick<Store['evidenceTerms'], 'readState'>;
    readonly newDigests: Pick<Store['newDigests'], 'insertOnce'>;
  };
  readonly queue: StampQueue;
  readonly jobs: JobSender;
  readonly waiter: ReplyWaiter;
  readonly writes: Pick<WriteWatch, 'refusing' | 'checkStore'>;
  readonly pingRedis: () => Promise<unknown>;
  readonly readHeartbeats: (nowMs: number) => Promise<Heartbeat[]>;
  readonly readQueueState: () => Promise<QueueState>;
  readonly readDurability: () => Promise<Durability>;
  readonly trust: TrustSettings;
  readonly stampJudge: StampJudge;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What routes and tools call. */
export interface Services {
  readonly stamping: Stamping;
  readonly stampBatch: StampBatch;
  readonly acceptBatch: AcceptBatch;
  readonly tsaDoor: TsaDoor;
  readonly verification: Verification;
  readonly untilKnown: UntilKnown;
  readonly statistics: Statistics;
  readonly sealedDownload: SealedDownload;
  readonly evidenceRenewals: EvidenceRenewals;
  readonly workflows: Workflows;
  readonly cose: CoseEvidence;
  readonly stampPages: StampPages;
  readonly health: HealthService;
  readonly status: StatusService;
  readonly pricing: PricingResponse;
}

const hourMs = 3_600_000;

export function createServices(ports: ServicePorts): Services {
  const {
    config,
    store,
    queue,
    jobs,
    waiter,
    writes,
    pingRedis,
    readHeartbeats,
    readQueueState,
    readDurability,
    trust,
    stampJudge,
    clock,
    log,
  } = ports;
  const { stamps, refusals, outputs, counters, sealedContents, keys } = store;
  const sealedMaxBytes = config.SEALED_MAX_BYTES;

  const idempotency = createIdempotency({
    store: store.idempotency,
    key: () => keys.secret('idempotency'),
    clock,
    ttlMs: config.IDEMPOTENCY_TTL_HOURS * hourMs,
  });
  const encryptedOf = createStampEncryption(() => keys.secret('stamp-metadata'));
  const configured = namesOf(trust);
  const readMailState = createMailStateReader({ readHeartbeats, clock });
  const workflows = createWorkflows({
    workflows: store.workflows,
    outputs,
    stamps,
    stampJudge,
    // A mail server that does not answer is tried for an hour (W12), so only a missing one counts as unable to send (W19).
    canSendMail: async () => (await readMailState()) !== 'not_configured',
    servesQualified: canServeQualified(trust),
    revocationLists: trust.providers.flatMap(({ settings: { crl } }) => crl ?? []),
    counters,
    queue,
    writes,
    jobs,
    waiter,
    idempotency,
    clock,
    log,
    ttlMs: config.WORKFLOW_TTL_HOURS * hourMs,
    waitMs: config.STAMP_WAIT_MS,
    encryptedOf,
    addressOf: (path) => `${config.PUBLIC_BASE_URL ?? ''}${path}`,
  });
  const makeItem = createItemMaker({ encryptedOf, clock });
  const accepting = { queue, writes, waiter, stamps, stampJudge, idempotency, makeItem, clock, waitMs: config.STAMP_WAIT_MS };
  const stamping = createStamping({ ...accepting, sealedContents, sealedMaxBytes });
  const verification = countVerifications(createVerification({ stamps, refusals, stampJudge }), () =>
    counters.add({ verifications: 1 }, clock()),
  );
  return {
    stamping,
    ...createStampBatch(accepting),
    tsaDoor: createTsaDoor({ stamping, readHeartbeats, trust, clock }),
    verification,
    untilKnown: createOutcomeWait({ verification, stamps, clock }),
    statistics: createStatistics({ stamps, counters, clock }),
    sealedDownload: createSealedDownload({ stamps, sealedContents, stampJudge }),
    evidenceRenewals: createEvidenceRenewals({ stamps, newDigests: store.newDigests, stampJudge, clock }),
    workflows,
    cose: createCoseEvidence({ stamps, outputs, workflows: store.workflows, proveSealedChain: workflows.proveSealedChain, keys }),
    stampPages: createStampPages({ stamps, refusals, stampJudge, clock }),
    health: createHealthService({ version, clock, pingRedis, pingStore: store.ping, writes, readHeartbeats }),
    status: createStatusService({
      version,
      clock,
      stampWaitMs: config.STAMP_WAIT_MS,
      counters,
      evidenceTerms: store.evidenceTerms,
      writes,
      readHeartbeats,
      readQueueState,
      readDurability,
      configured,
    }),
    pricing: pricingOf({ version, sealedMaxBytes }),
  };
}
