import { describe, expect, it } from 'vitest';
import { escapeHtml, hash, wordsOf } from '../../../src/shared/views/format.ts';

const { count, dayText, duration, latency, stampTime, stampTimeText, time, timeText } = wordsOf('en');

describe('times', () => {
  it('are in UTC: to the second for people, RFC 3339 for machines', () => {
    expect(time('2026-11-21T11:46:07.204Z')).toBe('<time datetime="2026-11-21T11:46:07.204Z">21 November 2026, 11:46:07 UTC</time>');
    expect(timeText('2026-01-02T03:04:05Z')).toBe('2 January 2026, 03:04:05 UTC');
    expect(dayText('2026-02-03')).toBe('3 February');
  });

  it('of stamps keep the fraction of the provider, so that none is shown too early', () => {
    expect(stampTimeText('2026-01-02T03:04:05.123456Z')).toBe('2 January 2026, 03:04:05.123456 UTC');
    expect(stampTimeText('2026-01-02T03:04:05.120Z')).toBe('2 January 2026, 03:04:05.12 UTC');
    expect(stampTime('2026-01-02T03:04:05.000Z')).toBe('<time datetime="2026-01-02T03:04:05.000Z">2 January 2026, 03:04:05 UTC</time>');
  });

  it.each(['2026-11-21T11:46:07+01:00', '2026-11-21', '', '2026-13-01T00:00:00Z', '2026-11-21T11:46:0700Z', '"><script>'])(
    'refuse %j',
    (text) => {
      expect(() => time(text)).toThrow(RangeError);
    },
  );
});

describe('figures', () => {
  it('are grouped, counted and spanned', () => {
    expect(count(1_204_881)).toBe('1,204,881');
    expect([0, 0.2, 59, 60, 61, 3_600, 90_061, 86_399.9].map(duration)).toEqual([
      '0 seconds',
      '0 seconds',
      '59 seconds',
      '1 minute',
      '1 minute 1 second',
      '1 hour',
      '1 day 1 hour',
      '1 day',
    ]);
    expect([null, 0, 12.6, 999, 1_000, 5_240].map(latency)).toEqual(['–', '0 ms', '13 ms', '999 ms', '1.0 s', '5.2 s']);
  });

  it('hashes wrap between groups of eight and copy as one word', () => {
    const hex = '0123456789abcdef'.repeat(4);
    const written = hash(hex);
    expect(written.match(/<wbr>/g)).toHaveLength(7);
    expect(written.replace(/<[^>]*>/g, '')).toBe(hex);
    expect(hash('<b>')).toBe('<code class="hash"><span>&lt;b&gt;</span></code>');
  });

  it('escape all HTML markup', () => expect(escapeHtml(`<a b="c" d='e'>&`)).toBe('&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;'));
});
