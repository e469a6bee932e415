import { describe, expect, it } from 'vitest';
import { maskEmail } from '../../../src/shared/domain/recipient.ts';

describe('masked address (W11)', () => {
  it.each([
    ['jane@example.com', 'j•••@example.com'],
    ['j@example.com', 'j•••@example.com'],
    ['"jane@home"@example.com', '"•••@example.com'],
    ['élodie@exämple.fr', 'é•••@exämple.fr'],
    ['e\u0301lodie@example.fr', 'e\u0301•••@example.fr'],
    ['👩‍⚖️notary@example.com', '👩‍⚖️•••@example.com'],
    ['[REDACTED]', '[REDACTED]'],
    ['', '[REDACTED]'],
    ['nobody', '[REDACTED]'],
    ['@example.com', '[REDACTED]'],
  ])('%s is shown as %s', (address, shown) => expect(maskEmail(address)).toBe(shown));
});
