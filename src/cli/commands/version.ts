import { version as ownVersion } from '../../shared/contract/version.ts';
import type { Command } from '../command.ts';
import { exitCodes } from '../failure.ts';

export const version: Command = {
  name: 'version',
  operands: '',
  summary: 'print the version of this command, like --version',
  options: {},
  run: async (_operands, { json }, { terminal }) => {
    terminal.text(json ? `${JSON.stringify({ version: ownVersion })}\n` : `${ownVersion}\n`);
    return exitCodes.ok;
  },
};
