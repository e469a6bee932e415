// @ts-nocheck: its packages are installed where it is used, not in this checkout.
/**
 * A tool for the AI SDK: the model saves a file, and the file is stamped. See README.md.
 */
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { tool } from 'ai';
import { Qstamp } from 'qstamp-client';
import { z } from 'zod';

const qstamp = new Qstamp({ url: process.env.QSTAMP_URL ?? 'http://127.0.0.1:8080' });

export const saveAndStamp = tool({
  description: 'Saves a text file in the current folder and time-stamps it. Use it for every final result.',
  inputSchema: z.object({ name: z.string(), content: z.string() }),
  // Only in the current folder, whatever folder the model names.
  execute: async ({ name, content }) => {
    const file = basename(name);
    await writeFile(file, content);
    const stamp = await qstamp.stampFile(file);
    await writeFile(`${file}.ers`, await qstamp.fetchEvidenceRecord(stamp.token_id));
    return { file, existed_at: stamp.issued_at, verify_url: qstamp.addressOf(stamp.verify_url) };
  },
});
