/** What test files of one process share: servers that cost more to start than most tests take. */
interface Shared {
  readonly thing: Promise<unknown>;
  readonly end: (thing: never) => Promise<unknown>;
  filesWithoutUse: number;
}

const things = new Map<string, Shared>();
/** What is idle still costs CPU time: queues are polled, and connections kept. */
const mostFilesWithoutUse = 3;

/** The thing of this name, made at its first use. It ends soon after the last test file that asks for it. */
export function share<T>(name: string, make: () => Promise<T>, end: (thing: T) => Promise<unknown>): Promise<T> {
  const shared = things.get(name) ?? { thing: make(), end, filesWithoutUse: 0 };
  shared.filesWithoutUse = -1;
  things.set(name, shared);
  return shared.thing as Promise<T>;
}

/** Called after each test file. */
export async function endUnused(): Promise<void> {
  for (const [name, shared] of things) {
    shared.filesWithoutUse += 1;
    if (shared.filesWithoutUse < mostFilesWithoutUse) continue;
    things.delete(name);
    await shared.end((await shared.thing) as never);
  }
}
