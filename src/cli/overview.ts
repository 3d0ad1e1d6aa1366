import type { Command } from 'commander'
import type { SessionView } from '../domain/api.ts'
import { findClient } from './client.ts'
import { contextOf } from './context.ts'
import { decisionsWait, listTable } from './render/list-table.ts'

const OPEN = new Set(['processing', 'waiting_input', 'rate_limited', 'paused', 'idle'])

/** `pcc` alone: how things stand, then what can be done. It starts nothing. */
export async function overview(program: Command): Promise<void> {
  const { places, terminal, out } = await contextOf(program)
  const client = await findClient(places)
  if (!client) {
    out('No daemon is running; the first command that needs one starts it.')
  } else {
    const reply = await client.request<{ sessions: SessionView[]; decisions?: number }>('GET', '/sessions')
    const { sessions, decisions } = reply
    const open = sessions.filter(session => OPEN.has(session.status))
    const waiting = open.filter(session => session.asks.length > 0 || session.status === 'waiting_input')
    const need =
      waiting.length === 0
        ? 'nothing needs you'
        : `${waiting.length} of them ${waiting.length === 1 ? 'needs' : 'need'} you`
    out(
      `${open.length === 1 ? '1 session is' : `${open.length} sessions are`} open, ${sessions.length} in all; ${need}.`,
    )
    if (open.length > 0) for (const line of listTable(open, terminal, Date.now())) out(line)
    if (decisions) out(decisionsWait(decisions))
  }
  out('')
  out(program.helpInformation().trimEnd())
}
