import type { Terminal } from '../../../../src/cli/render/text.ts'
import type { AttemptView, RunDetail } from '../../../../src/domain/run.ts'

export const NOW = 1_768_300_100_000

/** A terminal without colours. */
export function plainTerminal(width = 100): Terminal {
  return { width, color: false, links: false, paint: (_tone, text) => text, link: (_path, text) => text }
}

/** A run that was begun a hundred seconds ago. */
export function someRun(more: Partial<RunDetail> = {}): RunDetail {
  return {
    ...{ id: 'r-aaaaaa', project: '/nowhere/shop', target: { kind: 'project' }, state: 'running', outcome: null },
    ...{ reason: null, stopping: false, iterations: 1, limit: null, verify: true, unverified: 0 },
    tasks: { running: 1, blocked: 2 },
    ...{
      cost_usd: 0.5,
      created_at: NOW - 100_000,
      ended_at: null,
      attempts: [someAttempt()],
      quota: null,
      left_ms: null,
      parallel: 1,
      merged: 0,
      unmerged: 0,
      held: 0,
      stands: false,
      kept_apart: [],
    },
    ...more,
  }
}

/** An attempt that is at work. */
export function someAttempt(more: Partial<AttemptView> = {}): AttemptView {
  return {
    ...{ task_id: 't-000001', title: 'dig the ground', number: 1, iteration: 1, session_id: 's-000001' },
    ...{ model: 'sonnet', outcome: null, reason: null, verification: null, cost_usd: 0.25 },
    ...{ started_at: NOW - 61_000, ended_at: null },
    now: { status: 'processing', last_line: 'Bash make', resumes_at: null, decision: null, landing: null },
    place: null,
    ...more,
  }
}

/** An attempt that is over. */
export function overAttempt(outcome: 'done' | 'failed' | 'interrupted', more: Partial<AttemptView> = {}): AttemptView {
  const verification = outcome === 'done' ? 'unverified' : null
  return someAttempt({ outcome, verification, ended_at: NOW - 1_000, now: null, ...more })
}
