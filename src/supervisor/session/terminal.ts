import { AppError } from '../../base/errors.ts'
import { isAlive } from '../../base/process/process-table.ts'
import { isFinal } from '../../domain/session-end.ts'
import type { TerminalWait } from '../../human/terminals.ts'
import type { SessionRow } from '../../store/tables.ts'
import { eventOf, type LiveSession, type SessionContext, type SessionDeps } from './context.ts'
import { record } from './record.ts'

/**
 * How long an ask waits at an attached terminal: after the grace it is parked. An ask that cannot be parked (a subagent's
 * call, an input too long to be shown whole) stays, and a note in the log tells people elsewhere.
 */
export function terminalWait(
  { signal, parks }: { signal: AbortSignal; parks: boolean },
  { live, deps }: SessionContext,
): TerminalWait {
  const graceMs = live.settings.brainSettings.deadlines.grace_seconds * 1000
  if (parks) return { signal, graceMs }
  const unheard = () => {
    const events = [eventOf(live, 'session.noted', { text: UNHEARD, unheard: true }, 'daemon')]
    record(live, deps, { events, patch: {} }).catch(error => live.log.warn({ error }, 'could not note a silence'))
  }
  return { signal, graceMs, unheard }
}

const UNHEARD = 'Nobody at the terminal has answered yet; it can be answered from elsewhere too: pcc pending'

/** The state `asking` while any ask is open at a terminal, and `running` otherwise. */
export function askingPatch(live: LiveSession, deps: SessionDeps): Partial<SessionRow> {
  const state = deps.terminals.open(live.id).length > 0 ? 'asking' : 'running'
  return live.row.state === state ? {} : { state }
}

/** Hands the terminal of an agent to a person, or back; a second call changes nothing. */
export async function handOverTerminal({ live, deps }: SessionContext, how: 'takeover' | 'handback'): Promise<void> {
  const {
    agent: { session },
  } = live
  if (!session?.takeover || !session.handback) {
    throw new AppError('not_in_terminal', { id: live.id, problem: 'its agent does not live in a terminal' })
  }
  const isTaken = session.takenOver === true
  if (isTaken === (how === 'takeover')) return
  const body = { text: HAND_OVER_NOTES[how](live.id) }
  // A takeover is recorded before it happens; a handback only afterwards, because it may be refused.
  if (how === 'handback') await session.handback()
  await record(live, deps, { events: [{ actor: 'human', subject: live.id, kind: 'session.noted', body }], patch: {} })
  if (how === 'takeover') await session.takeover()
}

const HAND_OVER_NOTES = {
  takeover: (id: string) =>
    `A person has taken the terminal: pcc types nothing and answers no question until pcc handback ${id}. Calls are judged as before.`,
  handback: () => 'The person has given the terminal back.',
}

/**
 * Whether the agent of an earlier daemon's session still runs in its terminal and goes on there: it is left alone, and resumed
 * in its window. A session that a person wanted to stop, or that waits for a person, is ended like all others.
 */
export async function isAliveInTerminal(row: SessionRow): Promise<boolean> {
  const { agent_pid: pid, agent_started: startTime, options, intent, parked, ended_as } = row
  if (isFinal(ended_as)) return false
  if (options.host !== 'tmux' || intent !== null || parked !== null || pid === null || startTime === null) return false
  return isAlive({ pid, startTime })
}

/** A note that follows the reason why a session rests, where its agent still runs. */
export async function terminalNote(row: SessionRow): Promise<string> {
  if (!(await isAliveInTerminal(row))) return ''
  return `\nIts agent still runs in its terminal, where its calls are refused: pcc resume ${row.id} takes it up, pcc stop ${row.id} ends it.`
}
