import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { verify } from '../../src/cli/commands/verify.ts';
import type { InclusionProofShown } from '../../src/shared/contract/workflow-proof.ts';
import { createMerkleTree } from '../../src/shared/domain/proofs.ts';
import { canonicalTextOf, closingRecordOf } from '../../src/shared/proof/closing-record.js';
import { hexOf } from '../../src/shared/proof/octets.js';
import { issueResponse } from '../../src/shared/rfc3161/index.ts';
import { createPki } from '../../src/tsa/pki.ts';
import { folderWith } from '../support/cli-in-process.ts';
import { ask } from '../support/tsa-lab.ts';

const genTimeMs = Date.UTC(2024, 1, 29, 12);
const pki = createPki({ nowMs: genTimeMs - 24 * 3_600_000 });
const digestOf = (content: string) => createHash('sha256').update(content).digest();
const sha256 = (content: string) => digestOf(content).toString('hex');

const workflowId = '01938f2e-7b10-4c22-8d33-b0a94e1f6c77';
const otherWorkflowId = '01938f2e-7b10-4c22-8d33-b0a94e1f6c78';
const stampId = '01890a5d-ac96-774b-bcce-b302099a8057';

function tokenOver(text: string): string {
  const asked = ask({ hash: 'sha256', digest: digestOf(text), nonce: undefined });
  const answer = issueResponse({ identity: pki.signer, policies: ['2.999.1'] }, asked.der, { timeMs: genTimeMs, serial: 1n });
  return answer.toString('base64');
}

const stampOver = (text: string) => ({ stamp_id: stampId, issued_at: '2024-02-29T12:00:00Z', token: tokenOver(text), verify_url: '/' });

/** The service's proof of the output with this number, in a completed workflow over the contents `a`, `b`, `c` …. */
function proofOf(number: number, contents: readonly string[] = ['a', 'b', 'c'], id = workflowId): InclusionProofShown {
  const tree = createMerkleTree();
  for (const content of contents) tree.append(digestOf(content));
  const treeSize = contents.length;
  const root = hexOf(tree.rootAt(treeSize));
  const record = closingRecordOf({
    workflowId: id,
    tier: 'standard',
    briefingHash: sha256('briefing'),
    createdAt: new Date(0),
    confirmedAt: undefined,
    completedAt: new Date(genTimeMs),
    outputCount: treeSize,
    chainHash: sha256('chain'),
    merkleRoot: root,
    commitments: undefined,
  });
  return {
    workflow_id: id,
    sequence_number: number,
    output_hash: sha256(contents[number - 1]!),
    leaf_index: number - 1,
    tree_size: treeSize,
    root_hash: root,
    inclusion_path: tree.proveInclusion(number - 1, treeSize).inclusionPath.map((node) => Buffer.from(node).toString('hex')),
    root_stamp: null,
    closing_record: { record, stamp: stampOver(canonicalTextOf(record)) },
  };
}

const files = { a: 'a', b: 'b', x: 'x', 'root.pem': pki.rootPem, 'other.pem': createPki({ nowMs: genTimeMs }).rootPem };

async function judge(proof: unknown, file = 'b', ca = 'root.pem') {
  const { run } = folderWith([verify], { ...files, 'proof.json': JSON.stringify(proof) });
  const { code, stdout } = await run(['verify', '--json', '--ca', ca, '--proof', 'proof.json', file]);
  return { code, result: stdout === '' ? undefined : (JSON.parse(stdout) as Record<string, unknown>) };
}

describe('qstamp verify --proof, without the service', () => {
  test('W21: proves that a file existed when a record was stamped; workflow and number from the record are shown as claims', async () => {
    expect(await judge(proofOf(2))).toMatchObject({
      code: 0,
      result: {
        verdict: 'valid',
        issued_at: '2024-02-29T12:00:00Z',
        content_sha256: sha256('b'),
        token_id: null,
        claimed_token_id: stampId,
        claimed: { workflow_id: workflowId, sequence_number: 2, output_count: 3 },
      },
    });
    const { run } = folderWith([verify], { ...files, 'proof.json': JSON.stringify(proofOf(2)) });
    const { stdout } = await run(['verify', '--ca', 'root.pem', '--proof', 'proof.json', 'b']);
    expect(stdout).toMatch(
      new RegExp(
        `^b: valid, existed at 2024-02-29T12:00:00\\.000Z\n {2}a record stamped then says: output 2 of 3 of workflow ${workflowId}\n`,
      ),
    );
  });

  const whole = proofOf(2);
  const seal = whole.closing_record!;
  const doubled = proofOf(3, ['a', 'b', 'c', 'c']);
  const forged: [what: string, proof: unknown, reason: string, file?: string][] = [
    ['another file', whole, 'inclusion_proof_invalid', 'x'],
    ['a wrong index', { ...whole, leaf_index: 0, sequence_number: 1 }, 'inclusion_proof_invalid'],
    ['a number that is not that of the leaf', { ...whole, sequence_number: 3 }, 'inclusion_proof_invalid'],
    ['a wrong size', { ...whole, tree_size: 4 }, 'inclusion_proof_invalid'],
    ['a path one too long', { ...whole, inclusion_path: [...whole.inclusion_path, whole.root_hash] }, 'inclusion_proof_invalid'],
    ['a path one too short', { ...whole, inclusion_path: whole.inclusion_path.slice(1) }, 'inclusion_proof_invalid'],
    ['[A,B,C,C] under the record of [A,B,C]', { ...doubled, closing_record: seal }, 'inclusion_proof_invalid'],
    ["another workflow's proof", { ...proofOf(2, ['x', 'b']), closing_record: seal }, 'inclusion_proof_invalid'],
    [
      "another workflow's record",
      { ...whole, closing_record: proofOf(2, undefined, otherWorkflowId).closing_record },
      'inclusion_proof_invalid',
    ],
    [
      'a record that was changed',
      { ...whole, closing_record: { ...seal, record: { ...seal.record, output_count: 4 } } },
      'imprint_mismatch',
    ],
    ["another record's token", { ...whole, closing_record: { ...seal, stamp: stampOver('other') } }, 'imprint_mismatch'],
    ['no token', { ...whole, closing_record: { ...seal, stamp: { ...seal.stamp, token: 'AAAA' } } }, ''],
  ];
  test.each(forged)('48: refuses %s', async (_what, proof, reason, file) => {
    const { code, result } = await judge(proof, file);
    expect([code, result?.verdict]).toEqual([1, 'not_valid']);
    expect(result?.reason).toMatch(new RegExp(`^${reason}`));
    expect(result).toMatchObject({ claimed: null, issued_at: null });
  });

  test('not proved without a trusted token: an open workflow, an anchor that does not reach the token', async () => {
    expect(await judge({ ...whole, closing_record: null })).toMatchObject({ code: 1, result: { verdict: 'not_proved' } });
    expect(await judge(whole, 'b', 'other.pem')).toMatchObject({ code: 1, result: { verdict: 'not_proved' } });
  });

  test('a file that is not a proof is reported, and nothing is judged', async () => {
    for (const proof of ['rubbish', {}, { ...whole, inclusion_path: ['00'] }, { ...whole, closing_record: { ...seal, record: {} } }]) {
      const { code, result } = await judge(proof);
      expect([code, JSON.stringify(result)]).toEqual([5, expect.stringContaining('is not an inclusion proof')]);
    }
    const { run } = folderWith([verify], { ...files, 'proof.json': JSON.stringify(whole) });
    expect((await run(['verify', '--proof', 'missing.json', 'b'])).code).toBe(5);
    expect((await run(['verify', '--proof', 'proof.json', 'a', 'b'])).code).toBe(2);
    expect((await run(['verify', '--proof', 'proof.json', '--online', 'b'])).code).toBe(2);
  });
});
