/** `npm run clients`: writes what the clients in `clients` have from the contract of the service. A test compares them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientFiles } from './clients/files.ts';
import { checkoutDir } from './stack/context.ts';

for (const [path, content] of clientFiles()) writeFileSync(join(checkoutDir, path), content);
