import type { ServerContext } from '../../server/context.ts';
import type { Stamps } from '../../stamps/index.ts';
import type { VerificationServices } from '../../verification/index.ts';
import type { Workflows } from '../../workflows/index.ts';
import { createLinks } from './links.ts';
import { createStampFilesTool } from './stamp-file-hashes.ts';
import type { Tool } from './tool.ts';
import { createVerifyFileTool } from './verify-file-hash.ts';
import {
  createWorkflowBundleTool,
  createWorkflowCompleteTool,
  createWorkflowOutputTool,
  createWorkflowStartTool,
  createWorkflowStatusTool,
} from './workflow.ts';

/** The services that the tools call. */
export type ToolServices = Stamps & VerificationServices & { readonly workflows: Workflows };

/** All tools except the three of the published interface, in the order in which an assistant needs them (M13). */
export function createStoryTools(context: ServerContext & ToolServices): readonly Tool[] {
  const ports = { ...context, links: createLinks(context.baseUrl) };
  return [
    createStampFilesTool(ports),
    createWorkflowStartTool(ports),
    createWorkflowStatusTool(ports),
    createWorkflowOutputTool(ports),
    createWorkflowCompleteTool(ports),
    createWorkflowBundleTool(ports),
    createVerifyFileTool(ports),
  ];
}
