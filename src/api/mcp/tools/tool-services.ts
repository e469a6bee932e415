import { evidencePath, verifyPath, workflowPath } from '../../../shared/domain/addresses.ts';
import type { WorkflowTools } from '../../workflows/index.ts';
import type { ResourceLink } from './tool.ts';

/** What the tools of an assistant call. */
export interface ToolServices {
  readonly tools: WorkflowTools;
  readonly links: Links;
  /** The public base URL of the service, without a final slash. */
  readonly baseUrl: () => string;
}

/** Makes the URLs in the answers of tools. They are absolute, because an assistant may show them anywhere. */
export interface Links {
  absolute(path: string): string;
  workflowPage(workflowId: string): ResourceLink;
  bundle(workflowId: string): ResourceLink;
  /** The page of a stamp, and its evidence record if the provider is known and is not the mock. */
  stamp(tokenId: string, provider: string | null): readonly ResourceLink[];
}

/** Stamps of this provider have no evidence record. */
const mock = 'mock';

export function createLinks(baseUrl: () => string): Links {
  const absolute = (path: string) => (path.startsWith('/') ? `${baseUrl()}${path}` : path);
  return {
    absolute,
    workflowPage: (id) => ({ uri: absolute(workflowPath(id)), name: `Page of workflow ${id}`, mimeType: 'text/html' }),
    bundle: (id) => ({ uri: absolute(evidencePath(id, 'zip')), name: `workflow-${id}.zip`, mimeType: 'application/zip' }),
    stamp: (tokenId, provider) => [
      { uri: absolute(verifyPath(tokenId)), name: `Page of stamp ${tokenId}`, mimeType: 'text/html' },
      ...(provider === mock || provider === null
        ? []
        : [{ uri: absolute(`${verifyPath(tokenId)}/evidence`), name: `${tokenId}.ers`, mimeType: 'application/octet-stream' }]),
    ],
  };
}
