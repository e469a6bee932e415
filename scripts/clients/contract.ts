import { createSchemaCollector } from '../../src/api/docs/document.ts';
import type { JsonSchema } from '../../src/api/docs/examples.ts';
import { httpValidationError } from '../../src/shared/contract/error.ts';
import { acceptedStamp, stampListResponse, stampTier, stampToken } from '../../src/shared/contract/stamp.ts';
import { evidenceRenewal, verificationResult } from '../../src/shared/contract/verify.ts';
import {
  acceptedOutput,
  workflowCompleteResponse,
  workflowRedactResponse,
  workflowResendResponse,
  workflowStampRequest,
  workflowStampResponse,
  workflowStartRequest,
  workflowStartResponse,
  workflowStateResponse,
} from '../../src/shared/contract/workflow.ts';
import { REASONS } from '../../src/shared/domain/reasons.ts';
import { statusOf } from '../../src/shared/domain/service-error.ts';

/** The parts of the service's contract that the clients use. */
export interface ClientContract {
  /** Request bodies, by name. */
  readonly requests: ReadonlyMap<string, JsonSchema>;
  /** Answers, by name. Each comes after the answers that it refers to. */
  readonly answers: ReadonlyMap<string, JsonSchema>;
  /** The codes of errors. */
  readonly errorCodes: readonly string[];
  /** The codes at the start of a `reason`. */
  readonly reasonCodes: readonly string[];
}

const requests = [workflowStartRequest, workflowStampRequest];
const answers = [
  stampTier,
  httpValidationError,
  stampToken,
  acceptedStamp,
  stampListResponse,
  verificationResult,
  evidenceRenewal,
  workflowStartResponse,
  workflowStampResponse,
  acceptedOutput,
  workflowStateResponse,
  workflowCompleteResponse,
  workflowResendResponse,
  workflowRedactResponse,
];

/** Reads the parts of the contract that the clients use, as JSON Schema. */
export function readClientContract(): ClientContract {
  const collect = (schemas: readonly (typeof requests | typeof answers)[number][], io: 'input' | 'output') => {
    const collector = createSchemaCollector();
    for (const schema of schemas) collector.schemaOf(schema, io);
    return new Map(Object.entries(collector.components));
  };
  return {
    requests: collect(requests, 'input'),
    answers: collect(answers, 'output'),
    errorCodes: Object.keys(statusOf),
    reasonCodes: Object.keys(REASONS),
  };
}
