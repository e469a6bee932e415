import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Store } from '../../shared/store/store.ts';

/** Finds a trusted list by its SHA-256: the file as it was signed, and a name for it. @throws ServiceError `not_found`, `store_unavailable` */
export async function findListFile({ trustedLists }: Store, sha256: string): Promise<{ readonly name: string; readonly xml: Buffer }> {
  const found = await trustedLists.findXml(sha256);
  if (!found) throw new ServiceError('not_found', 'This service has no trusted list with this SHA-256.');
  const { territory, sequenceNumber } = found.said;
  return { name: `${territory}-${sequenceNumber}.xml`, xml: found.xml };
}
