import { REASONS } from '../../src/shared/domain/reasons.ts';
import { ANSWER_FAULTS } from './tsa-faults-answer.ts';
import { CERTIFICATE_FAULTS } from './tsa-faults-chain.ts';
import { CMS_FAULTS } from './tsa-faults-cms.ts';
import { TSTINFO_FAULTS } from './tsa-faults-tstinfo.ts';
import type { FaultyCase } from './tsa-lab.ts';

/**
 * A token for each refusal of a verifier, 1–46 except 5, which is about HTTP (`createFault` of the development TSA). Each differs from
 * a valid answer only in what its name says; everything else, including signatures, is correct.
 */
export const FAULTY_CASES: readonly (FaultyCase & { refusal: number | undefined })[] = [
  ...ANSWER_FAULTS,
  ...TSTINFO_FAULTS,
  ...CMS_FAULTS,
  ...CERTIFICATE_FAULTS,
].map((faulty) => ({ ...faulty, refusal: REASONS[faulty.code].refusal }));
