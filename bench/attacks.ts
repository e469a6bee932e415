/** `npm run bench -- attacks [bodies|storm|pipelines]` runs one attack, or all of them. */
import { attackBodies } from './attacks/bodies.ts';
import { attackByPipelines } from './attacks/pipelines.ts';
import { attackWithoutRedis } from './attacks/storm.ts';

const attacks = { bodies: attackBodies, storm: attackWithoutRedis, pipelines: attackByPipelines };
const chosen = process.argv.slice(3);

for (const [name, attack] of Object.entries(attacks)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  console.log(`\n${name}`);
  await attack();
}
