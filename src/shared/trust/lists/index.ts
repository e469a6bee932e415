/** Trusted lists of the EU (ETSI TS 119 612): what the member states sign about their providers. */
export { type ChosenLists, chooseLists, signersIn } from './choose-lists.ts';
export { isNewer, newestLists, stateOf } from './freshness.ts';
export { createListIndex, type ListedJudgement, type ListIndex } from './list-index.ts';
export { readListOfLists } from './list-of-lists.ts';
export { type ListReader, openListThread } from './list-thread.ts';
export { readSignersFile } from './signers-file.ts';
export {
  european,
  isTerritory,
  LIST_FAULTS,
  type ListFault,
  type ListPointer,
  ListRefusal,
  mostListBytes,
  type TimeStampingService,
  type TrustedList,
} from './trusted-list.ts';
