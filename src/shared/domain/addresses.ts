/** Makes paths absolute if the service has a public address (`PUBLIC_BASE_URL`, without a final slash); otherwise they stay relative (W13). */
export const addressesUnder =
  (publicBaseUrl = '') =>
  (path: string): string =>
    `${publicBaseUrl}${path}`;

/** The address that verifies a stamp by its id, relative to the service (W13). */
export const verifyPath = (tokenId: string): string => `/api/v1/verify/v1/token/${tokenId}`;

/** A secret address: anyone who has it may fetch the content (S11). */
export const sealedPath = (tokenId: string, secret: string): string => `/api/v1/sealed/v1/${tokenId}/${secret}`;

export const workflowPath = (workflowId: string): string => `/workflow/${workflowId}`;

/** The address of an output: its place on the page of its workflow. */
export const outputPath = (workflowId: string, sequenceNumber: number): string => `${workflowPath(workflowId)}#output-${sequenceNumber}`;

export const outputsPath = (workflowId: string): string => `${workflowPath(workflowId)}/outputs.json`;

/** The address of a workflow's published closing record (W18). */
export const closingRecordPath = (workflowId: string): string => `${workflowPath(workflowId)}/closing-record.json`;

/** The address of everything that third parties need to check a completed workflow (W22). */
export const evidencePath = (workflowId: string, form: 'zip' | 'json'): string => `${workflowPath(workflowId)}/evidence.${form}`;

export const workflowStatePath = (workflowId: string): string => `/api/v1/workflow/${workflowId}`;

/** The secret link in the mail, in its short form. Opening it confirms the client's e-mail address (W6). */
export const mailedLinkPath = (workflowId: string, challenge: string): string => `/c/${workflowId}/${challenge}`;

/** The address of the button that mails a new link. */
export const newLinkPath = (workflowId: string): string => `${workflowPath(workflowId)}/new-link`;

/** The link that stops the mails to a recipient. `token`: see `stopTokenOf`. */
export const stopMailPath = (token: string): string => `/mail/stop/${token}`;

/** Whether a server runs on this machine. It is reached without a proxy, whatever NO_PROXY says. */
export const isOnThisMachine = ({ hostname }: URL): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
