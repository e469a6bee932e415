import type { StampBatch } from '../../services/stamp-batch.ts';
import type { Verification } from '../../services/verification.ts';
import type { Workflows } from '../../services/workflows/workflows.ts';
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

export interface StoryDeps {
  readonly stampBatch: StampBatch;
  readonly verification: Pick<Verification, 'byId' | 'raw'>;
  readonly workflows: Workflows;
  /** Where the service is reached. */
  readonly baseUrl: () => string;
}

/** The tools beside the three of the interface, in the order in which an assistant needs them (M13). None needs a service token. */
export function createStoryTools(deps: StoryDeps): readonly Tool[] {
  const ports = { ...deps, links: createLinks(deps.baseUrl) };
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
