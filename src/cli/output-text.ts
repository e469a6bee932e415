import { sha256Imprint } from '../shared/domain/stamp.ts';
import type { TrustStore } from '../shared/rfc3161/index.ts';
import type { OutputJudgement } from './judge-output.ts';
import { type ToldVerdict, tellVerdict } from './verdict-text.ts';

/**
 * The verdict on a file and its Merkle proof. The token covers the closing record, but the result is about the file. The place of the file in a
 * workflow is only a claim: anyone can write a closing record and have its hash stamped.
 */
export function tellOutput(name: string, { judgement, sha256, proof }: OutputJudgement, trust: TrustStore): ToldVerdict {
  const record = proof.closing_record?.record;
  const subject = { input: name, token: undefined, stampId: proof.closing_record?.stamp.stamp_id, record: undefined };
  const { json, line, details, verdict, sign, code } = tellVerdict(name, subject, judgement, trust);
  const isValid = judgement.verdict === 'valid';
  const place = `a record stamped then says: output ${proof.sequence_number} of ${record?.output_count} of workflow ${proof.workflow_id}`;
  return {
    json: {
      ...json,
      imprint: sha256Imprint(sha256),
      content_sha256: sha256,
      claimed:
        isValid && record
          ? { workflow_id: record.workflow_id, sequence_number: proof.sequence_number, output_count: record.output_count }
          : null,
    },
    line,
    details: [...(isValid ? [place] : []), ...details],
    verdict,
    sign,
    code,
  };
}
