/** Trusted lists of the EU (ETSI TS 119 612): what the member states sign about their providers. */
export {
  type ChosenLists,
  chooseLists,
  isNewer,
  newestLists,
  readListOfLists,
  readSignersFile,
  signersIn,
  stateOf,
} from './choose-lists.ts';
export { createListIndex, type ListedJudgement, type ListIndex } from './list-index.ts';
export { type ListReader, openListThread } from './list-thread.ts';
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
