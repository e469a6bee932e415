/** Trusted lists of the EU (ETSI TS 119 612): what the member states sign about their providers. */
export { isNewer, stateOf } from './freshness.ts';
export { createListIndex, type ListedJudgement, type ListIndex } from './list-index.ts';
export { readListOfLists } from './list-of-lists.ts';
export { type ListReader, openListThread } from './list-thread.ts';
export { readSignersFile } from './signers-file.ts';
export {
  LIST_FAULTS,
  type ListFault,
  type ListPointer,
  ListRefusal,
  mostListBytes,
  type TimeStampingService,
  type TrustedList,
} from './trusted-list.ts';
