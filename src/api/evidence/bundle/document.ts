import { Readable } from 'node:stream';
import { type EvidenceDocument, qualifiedShown } from '../../../shared/contract/evidence-bundle.ts';
import { type BundleContents, type EvidenceSeal, type EvidenceStamp, inChunks } from './contents.ts';

const stampShown = ({ kind, bytes }: EvidenceStamp) => ({ kind, token: kind === 'none' ? null : bytes.toString('base64') });

const sealShown = (seal: EvidenceSeal): EvidenceDocument['root']['stamp'] => ({
  stamp_id: seal.stampId,
  issued_at: seal.issuedAt,
  ...stampShown(seal),
  qualified: seal.qualification ? qualifiedShown(seal.qualification) : null,
});

/** The evidence as one JSON document. It is streamed, so memory does not grow with the number of outputs. */
export function evidenceDocumentOf(evidence: BundleContents): Readable {
  const { record, recordText, root, closing, rootPreimage, lists } = evidence;
  const head: Pick<EvidenceDocument, 'format' | 'workflow_id' | 'closing_record' | 'root'> = {
    format: 'qstamp-evidence/1',
    workflow_id: record.workflow_id,
    closing_record: { text: recordText, hash: closing.hash, stamp: sealShown(closing) },
    root: { hash: root.hash, preimage: rootPreimage.toString('hex'), stamp: sealShown(root) },
  };
  async function* write(): AsyncGenerator<string> {
    yield `${JSON.stringify(head).slice(0, -1)},"outputs":[`;
    let comma = '';
    for await (const output of evidence.stamps(1, record.output_count)) {
      const shown: EvidenceDocument['outputs'][number] = {
        sequence_number: output.number,
        output_hash: output.outputHash,
        chain_hash: output.chainHash,
        output_type: output.type,
        inclusion_path: [...evidence.pathOf(output.number)],
        stamp_id: output.stampId,
        ...stampShown(output),
      };
      yield `${comma}${JSON.stringify(shown)}`;
      comma = ',';
    }
    const tail: Pick<EvidenceDocument, 'certificates' | 'revocation_lists' | 'trusted_lists'> = {
      certificates: evidence.certificates().map(({ role, subject, fingerprint, pem }) => ({ role, subject, sha256: fingerprint, pem })),
      revocation_lists: [...evidence.revocationLists()],
      ...(lists && {
        trusted_lists: lists.map(({ territory, number, sha256 }) => ({
          territory,
          list_number: number,
          sha256,
          address: `/trusted-lists/${sha256}`,
        })),
      }),
    };
    yield `],${JSON.stringify(tail).slice(1)}`;
  }
  return Readable.from(inChunks(write()), { objectMode: false });
}
