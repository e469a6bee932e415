import { z } from 'zod';
import { digestCharacters, imprintAlgorithms } from '../domain/stamp.ts';
import { plainJobSchema, type StampItem, type StampJob } from './stamp-job.ts';

/** What the items of a request mostly share, and what those have alone that travel as they are. */
const placeOf = {
  tokenId: 'each',
  imprint: 'each',
  caller: 'shared',
  tier: 'shared',
  acceptedAt: 'shared',
  requestId: 'shared',
  paymentClaim: 'shared',
  requiresQualified: 'shared',
  isPromised: 'shared',
  metadata: 'alone',
  sealed: 'alone',
  output: 'alone',
  asked: 'alone',
  callback: 'alone',
} as const satisfies Record<keyof StampItem, 'each' | 'shared' | 'alone'>;

const fieldsAt = (place: string) => (Object.keys(placeOf) as (keyof StampItem)[]).filter((name) => placeOf[name] === place);
const sharedFields = fieldsAt('shared');
const ownFields = fieldsAt('alone');

/** Items that follow each other and differ in nothing but id and digest: what they share is said once. */
interface ItemsAlike {
  readonly shared: Omit<StampItem, 'tokenId' | 'imprint'>;
  readonly algorithm: StampItem['imprint']['algorithm'];
  /** Ids, and digests, one after the other. */
  tokenIds: string;
  digests: string;
}

/** A job as it travels. */
export type SentJob = StampJob | (Omit<StampJob, 'items'> & { readonly alike: readonly ItemsAlike[] });

const idCharacters = 36;

/** With fewer items to a group, saying what they share would be no shorter. */
const leastItemsPerGroup = 4;

const isSame = (one: unknown, other: unknown): boolean => one === other || JSON.stringify(one) === JSON.stringify(other);

const isAlike = ({ shared, algorithm }: ItemsAlike, item: StampItem): boolean =>
  item.imprint.algorithm === algorithm && sharedFields.every((name) => isSame(item[name], shared[name as keyof typeof shared]));

/** The same job, shorter where its items are alike: Redis writes it to its disk before a stamp counts as accepted. */
export function sentJobOf({ items, ...job }: StampJob): SentJob {
  const alike: ItemsAlike[] = [];
  for (const item of items) {
    if (ownFields.some((name) => item[name] !== undefined)) return { ...job, items };
    const group = alike.at(-1);
    if (group && isAlike(group, item)) {
      group.tokenIds += item.tokenId;
      group.digests += item.imprint.digest;
    } else if (items.length < leastItemsPerGroup * (alike.length + 1)) return { ...job, items };
    else {
      const {
        tokenId: tokenIds,
        imprint: { algorithm, digest: digests },
        ...shared
      } = item;
      alike.push({ shared, algorithm, tokenIds, digests });
    }
  }
  return { ...job, alike };
}

/** What is to be known of a group before it is divided. Its items are judged as all others. */
const groupSchema = z
  .object({ shared: z.looseObject({}), algorithm: z.enum(imprintAlgorithms), tokenIds: z.string(), digests: z.string() })
  .refine(({ algorithm, tokenIds, digests }) => digests.length * idCharacters === tokenIds.length * digestCharacters[algorithm]);
const alikeSchema = z.object({ alike: z.array(groupSchema) });

function itemsOf({ algorithm, tokenIds, digests, shared }: z.output<typeof groupSchema>): object[] {
  const characters = digestCharacters[algorithm];
  return Array.from({ length: Math.ceil(tokenIds.length / idCharacters) }, (_, index) => ({
    ...shared,
    tokenId: tokenIds.slice(index * idCharacters, (index + 1) * idCharacters),
    imprint: { algorithm, digest: digests.slice(index * characters, (index + 1) * characters) },
  }));
}

const isSentAlike = (payload: unknown): boolean => typeof payload === 'object' && payload !== null && 'alike' in payload;

/** The payload with each of its items by itself. Anything else is returned as it is. */
function withItems(payload: unknown): unknown {
  const sent = isSentAlike(payload) ? alikeSchema.safeParse(payload) : undefined;
  return sent?.success ? { ...(payload as object), items: sent.data.alike.flatMap(itemsOf) } : payload;
}

/** Payload of a job in the `stamps` queue, as it is sent or plain. */
export const stampJobSchema = z.preprocess(withItems, plainJobSchema);
