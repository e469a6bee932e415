import { describe, expect, it } from 'vitest';
import { answerTo, readStatus, type WorkflowOperation, type WorkflowSnapshot } from '../../../src/shared/domain/workflow-state.ts';

const expiresAtMs = 1_000;
const before = 999;
const after = 1_000;

const workflow = (changed: Partial<WorkflowSnapshot> = {}): WorkflowSnapshot => ({
  status: 'pending',
  isEmailVerified: false,
  tier: 'standard',
  expiresAtMs,
  isRedacted: false,
  ...changed,
});

const verified = { status: 'active', isEmailVerified: true } as const;

function answers(snapshot: WorkflowSnapshot, nowMs = before): Record<WorkflowOperation, unknown> {
  const short = (operation: WorkflowOperation) => {
    const answer = answerTo(operation, snapshot, nowMs);
    return typeof answer === 'string' ? answer : `${answer.kind} ${answer.reason}`;
  };
  return {
    verify_user: short('verify_user'),
    resend: short('resend'),
    stamp: short('stamp'),
    complete: short('complete'),
    redact: short('redact'),
  };
}

describe('the answers of a workflow', () => {
  it('W2: standard goes on while the e-mail is unverified', () => {
    expect(answers(workflow())).toEqual({ verify_user: 'go', resend: 'go', stamp: 'go', complete: 'go', redact: 'go' });
  });

  it.each(['verified', 'qualified'] as const)('W2, W4: %s refuses stamps and completion until the e-mail is verified', (tier) => {
    const refused = 'conflict email_not_verified';
    expect(answers(workflow({ tier }))).toEqual({ verify_user: 'go', resend: 'go', stamp: refused, complete: refused, redact: 'go' });
    expect(answers(workflow({ tier, ...verified }))).toMatchObject({ stamp: 'go', complete: 'go' });
  });

  it('W6: the challenge of an active workflow is used', () => {
    expect(answers(workflow(verified))).toMatchObject({ verify_user: 'gone challenge_used', resend: 'conflict email_verified' });
  });

  it('W4, W7: completed refuses stamps, answers completion again, and its challenge is dead', () => {
    const closed = 'conflict workflow_closed';
    const expected = { verify_user: 'gone workflow_closed', resend: closed, stamp: closed, complete: 'again', redact: 'go' };
    expect(answers(workflow({ status: 'completed' }))).toEqual(expected);
    expect(answers(workflow({ status: 'completed', tier: 'qualified' }), after)).toEqual(expected);
  });

  it('W9: closing accepts no more outputs, and completion continues, also past the expiry', () => {
    const closed = 'conflict workflow_closed';
    const expected = { verify_user: 'gone workflow_closed', resend: closed, stamp: closed, complete: 'go', redact: 'go' };
    expect(answers(workflow({ status: 'closing' }))).toEqual(expected);
    expect(answers(workflow({ status: 'closing', tier: 'verified' }), after)).toEqual(expected);
  });

  it.each([workflow(), workflow({ tier: 'verified' }), workflow({ tier: 'qualified', ...verified })])(
    'W5: $tier $status is expired from expires_at on, and redaction still works',
    (snapshot) => {
      const gone = 'gone workflow_expired';
      expect(readStatus(snapshot, before)).toBe(snapshot.status);
      expect(readStatus(snapshot, after)).toBe('expired');
      expect(answers(snapshot, after)).toEqual({ verify_user: gone, resend: gone, stamp: gone, complete: gone, redact: 'go' });
    },
  );

  it('W5: a completed workflow never expires, and a closing one is shown with its earlier status', () => {
    expect(readStatus(workflow({ status: 'completed' }), after)).toBe('completed');
    expect(readStatus(workflow({ status: 'closing' }), after)).toBe('pending');
    expect(readStatus(workflow({ status: 'closing', isEmailVerified: true }), after)).toBe('active');
  });

  it('W7, W10: redaction ends the challenge, keeps the rest, and gives the same answer again', () => {
    expect(answers(workflow({ isRedacted: true }))).toEqual({
      verify_user: 'gone email_redacted',
      resend: 'gone email_redacted',
      stamp: 'go',
      complete: 'go',
      redact: 'again',
    });
    expect(answers(workflow({ isRedacted: true, tier: 'verified' })).stamp).toBe('conflict email_not_verified');
    expect(answers(workflow({ isRedacted: true, ...verified })).verify_user).toBe('gone challenge_used');
  });
});
