/** The relative addresses that answers carry (W13). */
export const verifyPath = (tokenId: string): string => `/api/v1/verify/v1/token/${tokenId}`;

/** A capability: whoever holds the address may fetch the content (S11). */
export const sealedPath = (tokenId: string, secret: string): string => `/api/v1/sealed/v1/${tokenId}/${secret}`;

export const workflowPath = (workflowId: string): string => `/workflow/${workflowId}`;

/** Outputs on one page: on a screen, and in the print edition. */
export const outputsPerPage = { screen: 100, print: 1_000 } as const;

/**
 * Where an output is found on a workflow's page. An anchor never reaches the server: beyond the first page the number is asked for as
 * well, so that the output is found without JavaScript.
 */
export function outputPath(workflowId: string, sequenceNumber: number): string {
  const asked = sequenceNumber > outputsPerPage.screen ? `?output=${sequenceNumber}` : '';
  return `${workflowPath(workflowId)}${asked}#output-${sequenceNumber}`;
}

/** Where the chain of a workflow is published, a page at a time. */
export const outputsPath = (workflowId: string): string => `${workflowPath(workflowId)}/outputs.json`;

/** Where the closing record of a workflow is published (W18). */
export const closingRecordPath = (workflowId: string): string => `${workflowPath(workflowId)}/closing-record.json`;

/** Where everything is that strangers check a completed workflow with (W22). */
export const evidencePath = (workflowId: string, form: 'zip' | 'json'): string => `${workflowPath(workflowId)}/evidence.${form}`;

/** Where a workflow's state is told (W16). */
export const workflowStatePath = (workflowId: string): string => `/api/v1/workflow/${workflowId}`;

/** The address in the mail: a capability, which confirms whoever opens it (W6). */
export const verifyUserPath = (workflowId: string, challenge: string): string =>
  `${workflowStatePath(workflowId)}/verify-user?challenge=${challenge}`;
