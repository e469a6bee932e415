import { certificateJson, keptAnchors, readableFingerprint } from '../anchors.ts';
import type { Command } from '../command.ts';
import { exitCodes } from '../failure.ts';

export const trustList: Command = {
  name: 'trust list',
  operands: '',
  summary: 'list the trust anchors that are kept',
  options: {},
  run: async (_operands, { json }, { terminal, anchorsFolder }) => {
    const anchors = await keptAnchors(anchorsFolder);
    for (const { path, certificate } of anchors) {
      const shown = certificateJson(certificate);
      const fingerprint = readableFingerprint(shown.sha256);
      terminal.result({ ...shown, saved: path }, shown.subject, [`valid until ${shown.not_after}`, `SHA-256 ${fingerprint}`]);
    }
    if (anchors.length === 0 && !json) terminal.result({}, 'no trust anchor is kept; "qstamp trust add FILE" keeps one');
    return exitCodes.ok;
  },
};
