import { setImmediate as nextTick } from 'node:timers/promises'
import type { Escalation } from '../../domain/escalation.ts'
import type { WaitingForYou } from '../../domain/report/report.ts'
import { QuestionItem } from '../../domain/session.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { TROUBLE_TOOL } from '../landing/steps/moves.ts'

/** What only a person can move now: decisions, sessions that stand still, tasks that failed and hold up others. */
export async function waitingForYou(
  store: Store,
  { project, sessions }: { project: string | undefined; sessions: readonly SessionRow[] },
): Promise<WaitingForYou[]> {
  const open = (await store.escalations.list({ states: ['open'] })).filter(
    row => project === undefined || row.project === project,
  )
  const asked = new Set(open.map(({ session_id }) => session_id))
  const decisions = open.map((row): WaitingForYou => {
    const next = row.kind === 'review' ? `pcc review ${row.input['task']}` : `pcc respond ${row.number}`
    return { kind: 'decision', text: askedBy(row), next, since: row.created_at }
  })
  const still = sessions
    .filter(row => standsStill(row) && !asked.has(row.id))
    .map((row): WaitingForYou => {
      const text = `${row.id} (${row.name}): ${row.status_reason ?? 'paused'}`
      return { kind: 'session', text, next: `pcc resume ${row.id}`, since: row.ended_at }
    })
  const failed = await store.tasks.list({ states: ['failed'], ...(project !== undefined && { project }) })
  const holding: WaitingForYou[] = []
  for (const { id, title, ended_at } of failed) {
    const held = (await store.tasks.dependentsOf(id)).filter(({ state }) => state === 'blocked').length
    const text = `${title}: it failed and holds up ${held === 1 ? 'another task' : `${held} others`}`
    if (held > 0) holding.push({ kind: 'task', text, next: `pcc task reset ${id}`, since: ended_at })
    await nextTick()
  }
  return [...decisions, ...still, ...holding]
}

function askedBy({ kind, tool, target, reason, input }: Escalation): string {
  if (kind === 'review') return `${target}: may it be merged?`
  if (kind === 'error') return tool === TROUBLE_TOOL ? `${target}: ${reason}` : reason
  const questions = QuestionItem.array().safeParse(input['questions'])
  return questions.success ? questions.data.map(({ question }) => question).join(' ') : `${tool} ${target}`
}

/** Nothing but a person makes it go on. */
function standsStill({ state, ended_as, resumes_at }: SessionRow): boolean {
  return state === 'ended' && (ended_as === 'paused' || ended_as === 'rate_limited') && resumes_at === null
}
