import { stat } from 'node:fs/promises';
import { type InclusionProofShown, inclusionProof } from '../shared/contract/workflow-proof.ts';
import { hashOfClosingText, verifyInclusion } from '../shared/domain/proofs.ts';
import { isSameImprint, sha256Imprint } from '../shared/domain/stamp.ts';
import { canonicalTextOf } from '../shared/proof/closing-record.js';
import { octetsOfSha256 } from '../shared/proof/octets.js';
import { digestInput } from './digest-input.ts';
import { CommandFailure, exitCodes } from './failure.ts';
import { parseJson, readText } from './json-file.ts';
import type { JudgeContext, SubjectJudgement } from './judge-subject.ts';
import { imprintSaidBy, judgeToken } from './judge-token.ts';

/** The judgement of a file and its Merkle proof. */
export interface OutputJudgement {
  readonly judgement: SubjectJudgement;
  /** SHA-256 of the file, lower-case hex. */
  readonly sha256: string;
  readonly proof: InclusionProofShown;
}

const mostProofBytes = 4 * 1024 * 1024;

/** Reads an inclusion proof. @throws CommandFailure if the file contains no proof */
async function readProof(path: string): Promise<InclusionProofShown> {
  const text = await readText(path);
  if (text === undefined) throw new CommandFailure(exitCodes.file, `${path}: there is no such file`);
  const { data } = inclusionProof.safeParse(parseJson(text));
  if (data) return data;
  throw new CommandFailure(exitCodes.file, `${path} is not an inclusion proof of a workflow's output`);
}

/**
 * Judges whether a file is an output in a stamped closing record, and so existed when the record was stamped (refusal 48). The inclusion path must
 * lead from the file's digest to the root in the record, in a tree of the size in the record, and the token over the record must be valid. Other
 * roots in the proof are ignored. The token does not prove who made the record.
 *
 * @throws CommandFailure if the file or the proof cannot be read
 */
export async function judgeOutput(path: string, proofPath: string, context: JudgeContext): Promise<OutputJudgement> {
  const { trust, lists, stdin, onBytes, nowMs } = context;
  const proofBytes = (await stat(proofPath).catch(() => undefined))?.size ?? 0;
  if (proofBytes > mostProofBytes) throw new CommandFailure(exitCodes.file, `${proofPath} is too large for a proof`);
  const proof = await readProof(proofPath);
  const { digest: sha256 } = (await digestInput(path, stdin, { onBytes })).imprint;
  const found = { sha256, proof };
  const { closing_record: seal } = proof;
  if (!seal) return { ...found, judgement: { verdict: 'not_proved', reason: 'no_token', stated: undefined, online: undefined } };

  const { record } = seal;
  const stamped = sha256Imprint(hashOfClosingText(canonicalTextOf(record)));
  const judged = await judgeToken(Buffer.from(seal.stamp.token, 'base64'), trust, nowMs, [stamped], lists);
  if (judged.verdict === 'not_valid') return { ...found, judgement: { ...judged, online: undefined } };
  const refuse = (reason: 'imprint_mismatch' | 'inclusion_proof_invalid'): OutputJudgement => ({
    ...found,
    judgement: { verdict: 'not_valid', reason, stated: judged.stated, isTokenProved: judged.verdict === 'valid', online: undefined },
  });
  const said = imprintSaidBy(judged);
  if (said && !isSameImprint(said, stamped)) return refuse('imprint_mismatch');
  const isOwn = record.workflow_id === proof.workflow_id && proof.sequence_number === proof.leaf_index + 1;
  const inclusion = {
    treeSize: proof.tree_size,
    leafIndex: proof.leaf_index,
    inclusionPath: proof.inclusion_path.map(octetsOfSha256),
  };
  const head = { treeSize: record.output_count, rootHash: octetsOfSha256(record.merkle_root) };
  if (!isOwn || !verifyInclusion(octetsOfSha256(sha256), inclusion, head).ok) return refuse('inclusion_proof_invalid');
  return { ...found, judgement: { ...judged, online: undefined } };
}
