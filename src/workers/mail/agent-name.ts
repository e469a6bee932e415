/** Longer names are cut: they may hold a message. */
const mostCharacters = 60;

/**
 * The name of an agent, safe to be quoted in a mail of ours. Anybody may start a workflow with anybody's address, and must not get a link
 * or a text of his own into the mail. What is left is one short line of letters, digits and a few marks. A full stop stays only before a
 * digit, because mail programs make links of `word.word`. Empty where nothing is left.
 */
export function agentNameOf(agentId: string): string {
  const words = agentId
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}\p{M} ._\-/+#()]/gu, ' ')
    .replace(/\.(?!\p{N})/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...words];
  return characters.length > mostCharacters ? `${characters.slice(0, mostCharacters).join('')}…` : words;
}
