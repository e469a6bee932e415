/** Built-in modules of Node.js, Deno and Bun. They are loaded without `import`, so that a bundler for browsers ignores them. */
interface Builtins {
  (name: 'node:crypto'): { createHash(name: 'sha256'): { update(bytes: Uint8Array): unknown; digest(encoding: 'hex'): string } };
  (name: 'node:fs'): { createReadStream(path: string | URL, options: { highWaterMark: number }): AsyncIterable<Uint8Array> };
}
const { process } = globalThis as { process?: { getBuiltinModule?: Builtins; env?: Record<string, string | undefined> } };

/** Undefined in a browser. */
export const builtin = process?.getBuiltinModule;

/** The value of an environment variable; undefined if it is empty. Browsers have none, and Deno may forbid to read it. */
export function environmentVariable(name: string): string | undefined {
  try {
    return process?.env?.[name]?.trim() || undefined;
  } catch {
    return undefined;
  }
}
