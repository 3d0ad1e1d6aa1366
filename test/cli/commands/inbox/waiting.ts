import { appPathsFor } from '../../../../src/base/app-paths.ts'
import type { EscalationView, NewEscalation } from '../../../../src/domain/escalation.ts'
import { openEscalations } from '../../../../src/human/escalations.ts'
import { openStore } from '../../../../src/store/open.ts'
import type { Pcc } from '../../pcc.ts'

const REFUSED: NewEscalation = {
  kind: 'permission',
  session_id: 's-aaaaaa',
  project: '/nowhere/project',
  task: 'tidy up',
  call_id: 'c-1',
  tool: 'Bash',
  target: 'it',
  input: {},
  risk: 'MEDIUM',
  reason: 'nobody was there',
  reasons: [],
  normalised: 'Bash it',
  state: 'denied',
}

/** Puts rows that were refused because nobody was there into the store. */
export async function recordRefused(pcc: Pcc, entries: Partial<NewEscalation>[]): Promise<void> {
  await using store = await openStore({ file: appPathsFor({ env: pcc.env }).database })
  const escalations = openEscalations({ store, clock: { now: () => Date.now() } })
  for (const entry of entries) await escalations.record({ ...REFUSED, ...entry })
}

/** A question of one part as a row. */
export function question(text: string, labels: string[], more: { multiSelect?: boolean } = {}) {
  const options = labels.map(label => ({ label, description: '' }))
  return { question: text, header: '', multiSelect: false, options, ...more }
}

/** A row as the API shows it. */
export function row(changes: Partial<EscalationView>): EscalationView {
  const none = { verdict: null, answer: null, answered_by: null, answered_at: null, answer_reason: null }
  const unused = { task_id: null, allowed_until: null, used_at: null, again: false }
  return {
    ...REFUSED,
    ...{ number: 1, count: 1, created_at: 0, last_at: 0, sessions: ['s-aaaaaa'], priority: 0 },
    ...{ context: {}, deadline: null, on_deadline: 'keep_waiting', ...none, ...unused },
    ...changes,
  }
}
