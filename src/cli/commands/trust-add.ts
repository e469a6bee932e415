import { certificateJson, keepAnchor, readableFingerprint, readCertificates } from '../anchors.ts';
import type { Command } from '../command.ts';
import { confirm } from '../confirm.ts';
import { exitCodes, misuse } from '../failure.ts';
import { onOneLine } from '../terminal.ts';

export const trustAdd: Command = {
  name: 'trust add',
  operands: 'FILE...',
  summary: 'keep certificates as trust anchors, by which "qstamp verify" judges',
  details:
    'FILE is PEM or DER. Compare the fingerprint with the one that the time-stamping authority publishes,\n' +
    'somewhere else than where the file is from.',
  options: { yes: ['', 'do not ask'] },
  run: async (files, values, { terminal, ask, anchorsFolder }) => {
    if (files.length === 0) throw misuse('name at least one file with a certificate');
    for (const file of files) {
      for (const certificate of await readCertificates(file)) {
        const shown = certificateJson(certificate);
        const fingerprint = readableFingerprint(shown.sha256);
        const facts = [`issued by ${shown.issuer}, valid until ${shown.not_after}`, `SHA-256 ${fingerprint}`];
        await confirm(values, ask, `${[shown.subject, ...facts].map(onOneLine).join('\n  ')}\nTrust it to vouch for time-stamps?`);
        const saved = await keepAnchor(anchorsFolder, certificate);
        terminal.result({ ...shown, saved }, `${shown.subject}: trusted from now on`, values.yes ? facts : []);
      }
    }
    return exitCodes.ok;
  },
};
