import type { Command } from 'commander'
import type { SessionStatus, SessionView } from '../domain/api.ts'
import type { EscalationView } from '../domain/escalation.ts'
import { findClient } from './connection/client.ts'
import type { DaemonConnection } from './connection/connection.ts'
import { commandContext } from './context.ts'
import { wakeTime } from './render/format.ts'
import { listTable } from './render/list-table.ts'
import type { Terminal } from './render/text.ts'

/** Prints what `pcc` without a command shows: the state of the sessions, what needs the person, and the help. Starts no daemon. */
export async function overview(program: Command): Promise<void> {
  const { paths, terminal, out } = await commandContext(program)
  const client = await findClient(paths)
  const lines = client
    ? await stateLines(client, terminal)
    : ['No daemon is running; the first command that needs one starts it.']
  for (const line of lines) out(line)
  out('')
  out(program.helpInformation().trimEnd())
}

async function stateLines(client: DaemonConnection, terminal: Terminal): Promise<string[]> {
  const [{ sessions }, { escalations: rows }, { needsYouLines }] = await Promise.all([
    client.request<{ sessions: SessionView[] }>('GET', '/sessions'),
    client.request<{ escalations: EscalationView[] }>('GET', '/escalations'),
    import('./render/escalation-lines.ts'),
  ])
  const now = Date.now()
  const open = sessions.filter(({ status }) => status in OPEN_STATUSES)
  const needsPerson = needsYouLines({ rows, sessions }, terminal, now)
  return [
    `${open.length === 1 ? '1 session is' : `${open.length} sessions are`} open, ${sessions.length} in all${describeCounts(open)}; ${needsPerson.length > 0 ? 'you are needed' : 'nothing needs you'}.`,
    ...(open.length > 0 ? listTable(open, terminal, now) : []),
    ...nextResumeLine(open, now),
    ...needsPerson,
  ]
}

/** What sessions that are not over are doing, in the order of the output. */
const OPEN_STATUSES: Partial<Record<SessionStatus, [one: string, more: string]>> = {
  processing: ['works', 'work'],
  waiting_input: ['waits for you', 'wait for you'],
  rate_limited: ['waits for a limit', 'wait for a limit'],
  paused: ['is paused', 'are paused'],
  idle: ['has not begun', 'have not begun'],
}

function describeCounts(open: SessionView[]): string {
  const counts = Object.entries(OPEN_STATUSES).flatMap(([status, [one, more]]) => {
    const count = open.filter(session => session.status === status).length
    return count === 0 ? [] : [`${count} ${count === 1 ? one : more}`]
  })
  return counts.length === 0 ? '' : `: ${counts.join(', ')}`
}

function nextResumeLine(open: SessionView[], now: number): string[] {
  const times = open.flatMap(({ resumes_at }) => resumes_at ?? []).filter(time => time > now)
  return times.length === 0 ? [] : [`The next session goes on by itself at ${wakeTime(Math.min(...times), now)}.`]
}
