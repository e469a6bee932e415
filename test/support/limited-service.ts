import { type RunningService, sharedService } from './service.ts';

/**
 * The one service in this test process with small limits for each address. It trusts the test as its proxy, so that each test has its own addresses.
 */
export const limitedService = (): Promise<RunningService> =>
  sharedService({
    settings: {
      SEALED_MAX_BYTES: '',
      TRUST_PROXY: '127.0.0.1',
      RATE_AGENT_PER_MINUTE: '4',
      RATE_SEALED_BYTES_PER_HOUR: '100',
      RATE_UNKNOWN_ID_PER_MINUTE: '3',
      RATE_WORKFLOW_PAGE_PER_MINUTE: '3',
      RATE_WORKFLOW_START_PER_HOUR: '5',
      RATE_WORKFLOW_STAMP_PER_MINUTE: '10',
      RATE_WRONG_TOKEN_PER_MINUTE: '3',
    },
  });

let addresses = 0;

/** A header with the address of a client that has sent nothing yet. */
export const freshAddress = (): { 'x-forwarded-for': string } => {
  addresses += 1;
  return { 'x-forwarded-for': `192.0.${addresses >> 8}.${addresses & 255}` };
};
