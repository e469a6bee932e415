import { createStampFilesTool } from './stamp.ts';
import type { Tool } from './tool.ts';
import type { ToolServices } from './tool-services.ts';
import { createVerifyFileTool } from './verify-file-hash.ts';
import {
  createWorkflowBundleTool,
  createWorkflowCompleteTool,
  createWorkflowOutputTool,
  createWorkflowStartTool,
  createWorkflowStatusTool,
} from './workflow.ts';

/** All tools except the three of the published interface, in the order in which an assistant needs them (M13). */
export const createStoryTools = (services: ToolServices): readonly Tool[] => [
  createStampFilesTool(services),
  createWorkflowStartTool(services),
  createWorkflowStatusTool(services),
  createWorkflowOutputTool(services),
  createWorkflowCompleteTool(services),
  createWorkflowBundleTool(services),
  createVerifyFileTool(services),
];
