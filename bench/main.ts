/** `npm run bench -- <name>` measures what `bench/<name>.ts` does, `npm run bench` stamping. */
import { existsSync } from 'node:fs';

const [name = 'stamping'] = process.argv.slice(2);
const script = new URL(`./${name}.ts`, import.meta.url);
if (!/^[a-z]+$/.test(name) || !existsSync(script)) throw new Error(`there is no measurement named ${name}`);
await import(script.href);
