import { verifyFileAnswer, verifyFileArguments } from '../../../shared/contract/mcp.ts';
import type { VerificationResult } from '../../../shared/contract/verify.ts';
import { verifyPath, workflowPath } from '../../../shared/domain/addresses.ts';
import { looksLikeMockToken, mockProviderName } from '../../../shared/domain/mock-token.ts';
import { developmentPolicy, developmentSentence } from '../../../shared/domain/qualification.ts';
import { reasonOf } from '../../../shared/domain/reasons.ts';
import { ServiceError } from '../../../shared/domain/service-error.ts';
import { verifyById, verifyRaw } from '../../verification/index.ts';
import { findWorkflow, proveInclusionOf } from '../../workflows/index.ts';
import { reading, type ToolCall, toolOf } from './tool.ts';

export const verifyFileTool = toolOf({
  name: 'verify_file_hash',
  description:
    'Check that a file is the one that was time-stamped. Compute the SHA-256 of the file as it is now (sha256_hex) and give exactly one of token_id, token or workflow_id. Returns verified; when true, issued_at is the time at which ' +
    'the file existed; when false, reason says why: the file is different, the stamp is not valid or is a test stamp, or the workflow is still open.',
  annotations: { ...reading, title: 'Verify a file by its hash' },
  arguments: verifyFileArguments,
  answer: verifyFileAnswer,
  run: async ({ sha256_hex: hash, token_id, token, workflow_id }, call) => {
    if (typeof workflow_id === 'string') return { answer: await answerOfWorkflow(call, hash, workflow_id) };
    const { tools } = call;
    const result = typeof token_id === 'string' ? await verifyById(tools, token_id) : await verifyRaw(tools, token ?? '', hash);
    return { answer: answerOfStamp(call, hash, result) };
  },
  linksOf: ({ url, token_id, tsp_provider }, links) => {
    if (token_id !== null) return links.stamp(token_id, tsp_provider);
    return url === null ? [] : [links.page(url, 'Page of the workflow')];
  },
});

const testStamp = 'test_stamp: The stamp comes from the mock provider, which is for testing. It proves nothing to a third party.';

const developmentStamp = `development_stamp: ${developmentSentence} It proves nothing to a third party.`;

const openWorkflowReason = 'workflow_open: The file is recorded, but no stamp of the root proves it yet. Complete the workflow.';

/** Why a stamp does not prove that a file with this hash existed; null if it does. */
function reasonAgainst(hash: string, { valid, reason, imprint, tsp_provider, policy }: VerificationResult): string | null {
  if (!valid) return reason;
  if (imprint?.algorithm !== 'sha256') return reasonOf('imprint_algorithm_mismatch');
  if (imprint.digest !== hash) return reasonOf('imprint_mismatch');
  if (policy === developmentPolicy) return developmentStamp;
  return tsp_provider === mockProviderName ? testStamp : null;
}

/** Whether an item of `not_checked` also applies to this tool. Verification by id does not compare the file with the stamp, but this tool does. */
const isLeftOpen = (unchecked: string): boolean => !unchecked.startsWith('whether you have the right file');

function answerOfStamp({ links }: ToolCall, hash: string, result: VerificationResult) {
  const { token_id, issued_at, tsp_provider, is_qualified, qualified, not_checked } = result;
  const reason = reasonAgainst(hash, result);
  return {
    verified: result.valid && reason === null,
    reason,
    issued_at,
    tsp_provider,
    is_qualified,
    qualified: qualified ? { status: qualified.status, basis: qualified.basis, reason: qualified.reason } : null,
    token_id,
    sequence_number: null,
    url: token_id === null ? null : links.absolute(verifyPath(token_id)),
    ...(not_checked && { not_checked: not_checked.filter(isLeftOpen) }),
  };
}

const isMock = (token: string): boolean => looksLikeMockToken(Buffer.from(token, 'base64'));

/** Checks whether a file is an output of a workflow, with an inclusion proof from the workflow's tree. Its root and closing record are verified. */
async function answerOfWorkflow({ tools, guards, links }: ToolCall, hash: string, workflowId: string) {
  const workflow = await guards.lookUp(() => findWorkflow(tools, workflowId));
  const open = { tsp_provider: null, is_qualified: null, qualified: null, token_id: null };
  const page = links.absolute(workflowPath(workflowId));
  try {
    const { sequence_number, root_stamp, closing_record } = await proveInclusionOf(tools, workflow, hash);
    const isTest = [root_stamp, closing_record?.stamp].some((stamp) => stamp && isMock(stamp.token));
    const isDevelopment = root_stamp && !isTest && (await verifyRaw(tools, root_stamp.token)).policy === developmentPolicy;
    const reason = !root_stamp ? openWorkflowReason : isTest ? testStamp : isDevelopment ? developmentStamp : null;
    const url = `${page}#output-${sequence_number}`;
    return { ...open, verified: reason === null, reason, issued_at: root_stamp?.issued_at ?? null, sequence_number, url };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error;
    const reason = 'not_an_output: No output of this workflow has this hash.';
    return { ...open, verified: false, reason, issued_at: null, sequence_number: null, url: page };
  }
}
