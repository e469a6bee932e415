import { ServiceError } from '../../shared/domain/service-error.ts';
import type { TrustedListStore } from '../../shared/store/trusted-lists.ts';

/** Finds a trusted list by its SHA-256: the file as it was signed, and a name for it. @throws ServiceError `not_found`, `store_unavailable` */
export type ListFileFinder = (sha256: string) => Promise<{ readonly name: string; readonly xml: Buffer }>;

export const createListFileFinder =
  ({ trustedLists }: { readonly trustedLists: TrustedListStore }): ListFileFinder =>
  async (sha256) => {
    const found = await trustedLists.findXml(sha256);
    if (!found) throw new ServiceError('not_found', 'This service has no trusted list with this SHA-256.');
    const { territory, sequenceNumber } = found.said;
    return { name: `${territory}-${sequenceNumber}.xml`, xml: found.xml };
  };
