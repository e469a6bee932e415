import type { ApiContext } from '../../server/context.ts';
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

/** The tools beside the three of the interface, in the order in which an assistant needs them (M13). None needs a service token. */
export function createStoryTools(context: ApiContext): readonly Tool[] {
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
