/** Relative addresses in answers (W13). */
export const verifyPath = (tokenId: string): string => `/api/v1/verify/v1/token/${tokenId}`;

/** A secret address: anyone who has it may fetch the content (S11). */
export const sealedPath = (tokenId: string, secret: string): string => `/api/v1/sealed/v1/${tokenId}/${secret}`;

export const workflowPath = (workflowId: string): string => `/workflow/${workflowId}`;

/** Outputs on one page, on screen and in print. */
export const outputsPerPage = { screen: 100, print: 1_000 } as const;

/**
 * The address of an output on its workflow's page. An anchor never reaches the server, so an output beyond the first page also needs its number in
 * the query. Then it works without JavaScript.
 */
export function outputPath(workflowId: string, sequenceNumber: number): string {
  const asked = sequenceNumber > outputsPerPage.screen ? `?output=${sequenceNumber}` : '';
  return `${workflowPath(workflowId)}${asked}#output-${sequenceNumber}`;
}

/** Publishes the chain of a workflow, one page at a time. */
export const outputsPath = (workflowId: string): string => `${workflowPath(workflowId)}/outputs.json`;

/** Publishes the closing record of a workflow (W18). */
export const closingRecordPath = (workflowId: string): string => `${workflowPath(workflowId)}/closing-record.json`;

/** Everything that third parties need to check a completed workflow (W22). */
export const evidencePath = (workflowId: string, form: 'zip' | 'json'): string => `${workflowPath(workflowId)}/evidence.${form}`;

/** Shows the state of a workflow (W16). */
export const workflowStatePath = (workflowId: string): string => `/api/v1/workflow/${workflowId}`;

/** The secret address in the mail: opening it confirms the e-mail address (W6). */
export const verifyUserPath = (workflowId: string, challenge: string): string =>
  `${workflowStatePath(workflowId)}/verify-user?challenge=${challenge}`;
