import { expect, test } from 'vitest';
import { outputPath } from '../../../src/shared/domain/addresses.ts';

test('the address of an output beyond the first page requests its page, because an anchor alone needs JavaScript', () => {
  expect(outputPath('w', 100)).toBe('/workflow/w#output-100');
  expect(outputPath('w', 101)).toBe('/workflow/w?output=101#output-101');
});
