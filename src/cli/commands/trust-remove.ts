import { certificateJson, forgetAnchor, keptAnchors } from '../anchors.ts';
import type { Command } from '../command.ts';
import { CommandFailure, exitCodes, misuse } from '../failure.ts';

/** Characters of a fingerprint that are enough to name it without mistake. */
const leastCharacters = 8;

export const trustRemove: Command = {
  name: 'trust remove',
  operands: 'FINGERPRINT',
  summary: 'keep a trust anchor no longer; the first 8 characters of its fingerprint are enough',
  options: {},
  run: async ([given, ...more], _values, { terminal, anchorsFolder }) => {
    const wanted = given?.replaceAll(':', '').toLowerCase() ?? '';
    if (more.length > 0 || !/^[0-9a-f]+$/.test(wanted) || wanted.length < leastCharacters) {
      throw misuse(`name one trust anchor by its fingerprint, or at least ${leastCharacters} characters of it`);
    }
    const [anchor, another] = (await keptAnchors(anchorsFolder)).filter(({ certificate }) => certificate.fingerprint.startsWith(wanted));
    if (anchor === undefined) throw new CommandFailure(exitCodes.file, `no trust anchor that is kept has the fingerprint ${given}`);
    if (another !== undefined) throw misuse(`several trust anchors begin with ${given}`);
    await forgetAnchor(anchor);
    const shown = certificateJson(anchor.certificate);
    terminal.result({ ...shown, removed: true }, `${shown.subject}: trusted no longer`);
    return exitCodes.ok;
  },
};
