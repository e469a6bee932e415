import { sha256Imprint } from '../shared/domain/stamp.ts';
import type { TrustStore } from '../shared/rfc3161/index.ts';
import type { OutputJudgement } from './judge-output.ts';
import { type ToldVerdict, tellVerdict } from './verdict-text.ts';

/** The verdict on a file and its Merkle proof. The token is over the closing record: what is told of content is told of the file. */
export function tellOutput(name: string, { judgement, sha256, proof }: OutputJudgement, trust: TrustStore): ToldVerdict {
  const record = proof.closing_record?.record;
  const subject = { input: name, token: undefined, stampId: proof.closing_record?.stamp.stamp_id, record: undefined };
  const { json, line, details } = tellVerdict(name, subject, judgement, trust);
  const isValid = judgement.verdict === 'valid';
  const place = `output ${proof.sequence_number} of ${record?.output_count} of workflow ${proof.workflow_id}`;
  return {
    json: {
      ...json,
      imprint: sha256Imprint(sha256),
      content_sha256: sha256,
      workflow_id: isValid ? proof.workflow_id : null,
      sequence_number: isValid ? proof.sequence_number : null,
      output_count: isValid ? record?.output_count : null,
    },
    line,
    details: [...(isValid ? [place] : []), ...details],
  };
}
