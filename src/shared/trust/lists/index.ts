/** Trusted lists of the EU (ETSI TS 119 612): what the member states sign about their providers. */
export { ageOf, isNewer, type ListAge, listAges } from './freshness.ts';
export { readListOfLists } from './list-of-lists.ts';
export { type ListConfig, type ListSource, type ListSources, loadListSources, usesTrustedLists } from './list-sources.ts';
export { type ListReader, openListThread } from './list-thread.ts';
export { mostListBytes } from './signed-xml.ts';
export { LIST_FAULTS, type ListFault, type ListPointer, ListRefusal, type TimeStampingService, type TrustedList } from './trusted-list.ts';
