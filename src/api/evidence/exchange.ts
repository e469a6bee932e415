import { evidenceRecordOf } from '../../shared/domain/evidence.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Batch } from '../../shared/domain/stamp.ts';
import type { Store } from '../../shared/store/store.ts';

/** The files of a stamp for other verifiers, in DER: response, request and token of the exchange with the TSA, and the evidence record (RFC 4998). */
export type ExchangePart = 'tsr' | 'tsq' | 'token' | 'evidence';

interface Exchanged {
  readonly der: Buffer;
  /** The batch that was stamped; undefined if the file is for this stamp alone. */
  readonly batch: Batch | undefined;
}

/**
 * Reads the bytes exactly as exchanged with the TSA, or the evidence record (S14). A stamp of a batch has the exchange and the token of its batch.
 *
 * @throws ServiceError `not_found` for an unknown id, for a damaged stamp and for a stamp of the mock provider
 */
export async function readExchange({ stamps }: Store, tokenId: string, part: ExchangePart): Promise<Exchanged> {
  const stamp = await stamps.find(tokenId);
  if (!stamp) throw new ServiceError('not_found', 'There is no stamp with this id.');
  const [proof] = stamp.proofs;
  const damaged = new ServiceError('not_found', 'The record of this stamp is damaged: there is nothing to download.');
  if (proof.token === '') throw damaged;
  if (proof.kind === 'mock')
    throw new ServiceError('not_found', 'This stamp was made by the mock provider: there is no RFC 3161 exchange to download.');
  const token = Buffer.from(proof.token, 'base64');
  const ofStamp = (der: Buffer): Exchanged => ({ der, batch: undefined });
  if (part === 'evidence') {
    const record = evidenceRecordOf(stamp);
    if (record === undefined) throw damaged;
    return ofStamp(record);
  }
  if (proof.kind === 'token') return ofStamp(part === 'token' ? token : proof[part]);
  const { batch } = proof;
  return { der: part === 'token' ? batch.tst : batch[part], batch };
}
