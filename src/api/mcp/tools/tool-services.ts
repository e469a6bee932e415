import type { WorkflowTools } from '../../workflows/index.ts';
import type { Links } from './links.ts';

/** What the tools of an assistant call. */
export interface ToolServices {
  readonly tools: WorkflowTools;
  readonly links: Links;
  /** The public base URL of the service, without a final slash. */
  readonly baseUrl: () => string;
}
