import type { Store } from '../../src/store/store.ts'

type NewEscalation = Parameters<Store['escalations']['insert']>[0]

/** A row for a requested permission. */
export const AN_ESCALATION: NewEscalation = {
  kind: 'permission',
  session_id: 's-1',
  project: '/p',
  task: 'tidy up',
  task_id: null,
  call_id: 'c-1',
  tool: 'Bash',
  target: 'rm x',
  input: { command: 'rm x', deep: [1, { two: null }] },
  risk: 'HIGH',
  reason: 'it deletes',
  reasons: [{ code: 'file.delete', risk: 'HIGH', text: 'it deletes' }],
  normalised: 'Bash rm x',
  fingerprint: 'f1',
  dedup_key: null,
  priority: 0,
  context: { steps: ['did: Bash ls'] },
  deadline: null,
  on_deadline: 'keep_waiting',
  state: 'open',
  count: 1,
  created_at: 5,
  last_at: 5,
  verdict: null,
  answer: null,
  answered_by: null,
  answered_at: null,
  answer_reason: null,
  bound: null,
  allowed_until: null,
  used_at: null,
}
