import { wakeTime } from '../../base/clock.ts'
import { neutral } from '../../base/neutral.ts'
import type { SessionView } from '../../domain/api.ts'
import { isAutomatic } from '../../domain/deciders.ts'
import type { EventBody, StoredEvent } from '../../domain/event.ts'
import { WRITING_TOOLS } from '../../domain/file-tools.ts'
import type { EndedAs } from '../../domain/session-end.ts'
import type { DaemonConnection } from '../connection/connection.ts'
import { commandsToResume, counted, duration, fullCount, money, statusWords } from './format.ts'
import { cut, firstLine, INDENT, type Terminal, wrap } from './text.ts'

export interface Summary {
  files: { written: string[]; edited: string[] }
  commands: { command: string; ok: boolean }[]
  /** Calls that were allowed and begun but have no result, because the agent was ended meanwhile. */
  cutOff: { tool: string; target: string }[]
  refused: { tool: string; target: string; reason: string; by: string }[]
  answered: { auto: number; human: number }
  approved: { auto: number; human: number }
}

/** The kinds of events that a summary is made of. */
const SUMMARY_KINDS = ['permission.decided', 'tool.finished', 'question.answered'] as const

type SummaryEvent = Extract<StoredEvent, { kind: (typeof SUMMARY_KINDS)[number] }>

/** Summarises what was done, decided and refused from the events alone. */
export function summarise(events: readonly SummaryEvent[]): Summary {
  const summary: Summary = {
    files: { written: [], edited: [] },
    commands: [],
    cutOff: [],
    refused: [],
    answered: { auto: 0, human: 0 },
    approved: { auto: 0, human: 0 },
  }
  // Only allowed calls can have run: a call with invalid input gets a result without ever being decided.
  const running = new Map<string, { tool: string; target: string }>()
  for (const event of events) {
    if (event.kind === 'permission.decided') {
      addDecision(event.body, summary)
      if (event.body.verdict === 'allow') running.set(event.body.call_id, event.body)
    }
    if (event.kind === 'tool.finished' && running.delete(event.body.call_id)) addResult(event.body, summary)
    if (event.kind === 'question.answered' && event.body.declined === undefined)
      summary.answered[deciderOf(event.body.by)] += Object.keys(event.body.answers).length
  }
  summary.cutOff = [...running.values()].filter(({ tool }) => tool === 'Bash' || WRITING_TOOLS.has(tool))
  return summary
}

/** The closing lines of a session: what was done, decided and refused, the time and the cost. */
export function summaryLines(session: SessionView, summary: Summary, terminal: Terminal): string[] {
  const status = statusWords(session)
  // The events above already show the reason of a limit or a parked question.
  const reason = ['rate_limited', 'waiting_input'].includes(session.status) ? null : session.reason
  const row = (name: string, text: string) => indented(name, text, terminal)
  return [
    '',
    terminal.paint('bold', `Summary of ${session.id} (${firstLine(session.name)})`),
    terminal.paint('dim', '─'.repeat(Math.min(38, terminal.width))),
    ...row('Status', status.text + (reason ? `: ${reason}` : '')),
    ...resumeTime(session.resumes_at, Date.now()).flatMap(text => row('Resumes', text)),
    ...describeDone(summary).flatMap((text, index) => row(index === 0 ? 'Done' : '', text)),
    ...row('Decided', describeDecisions(summary)),
    ...refusalLines(summary, terminal),
    ...row('Took', duration((session.ended_at ?? Date.now()) - session.created_at)),
    ...row('Tokens', `${fullCount(session.tokens.input)} in, ${fullCount(session.tokens.output)} out`),
    ...row('Cost', `${money(session.cost_usd)} in ${counted(session.turns, 'turn')}`),
    ...commandsToResume(session, reason).flatMap(text => row('Go on', text)),
  ]
}

/** A time that has passed is not shown: the session is held by a person, or waits for its turn. */
function resumeTime(resumesAt: number | null, now: number): string[] {
  return resumesAt === null || resumesAt <= now ? [] : [`by itself at ${wakeTime(resumesAt, now)}`]
}

function addDecision(body: EventBody<'permission.decided'>, summary: Summary): void {
  if (body.verdict === 'allow') {
    summary.approved[deciderOf(body.by)]++
    return
  }
  summary.refused.push({ tool: body.tool, target: body.target, reason: body.reason, by: body.by })
}

function addResult({ tool, target, ok }: EventBody<'tool.finished'>, { files, commands }: Summary): void {
  if (tool === 'Bash') commands.push({ command: target, ok })
  if (!ok) return
  const list = tool === 'Write' ? files.written : WRITING_TOOLS.has(tool) ? files.edited : undefined
  if (list?.includes(target) === false) list.push(target)
}

function deciderOf(by: string): 'auto' | 'human' {
  return isAutomatic(by) ? 'auto' : 'human'
}

function describeDone({ files, commands, cutOff }: Summary): string[] {
  const lines = [
    ...(files.written.length ? [`wrote ${files.written.map(firstLine).join(', ')}`] : []),
    ...(files.edited.length ? [`edited ${files.edited.map(firstLine).join(', ')}`] : []),
    ...commands.map(({ command, ok }) => `ran ${firstLine(command)} ${ok ? '✓' : '✗'}`),
    ...cutOff.map(({ tool, target }) => `began ${tool} → ${firstLine(target)}, cut off before its result`),
  ]
  return lines.length ? lines : ['nothing was written or run']
}

function describeDecisions({ approved, answered }: Summary): string {
  const tools = `${counted(approved.auto + approved.human, 'tool')} allowed (${approved.auto} auto, ${approved.human} human)`
  const questions = answered.auto + answered.human
  return questions === 0 ? tools : `${tools}, ${counted(questions, 'question')} answered`
}

function refusalLines({ refused }: Summary, terminal: Terminal): string[] {
  return refused.flatMap(({ tool, target, reason, by }, index) => [
    ...indented(index === 0 ? 'Refused' : '', `${tool} → ${cut(firstLine(target), 60)} ✗ by ${by}`, terminal),
    ...wrap(neutral(reason), terminal.width - 15).map(line => `${' '.repeat(14)}${terminal.paint('dim', line)}`),
  ])
}

function indented(name: string, text: string, terminal: Terminal): string[] {
  return wrap(neutral(text), terminal.width - 13).map(
    (line, index) => `${(index || !name ? '' : `${name}:`).padEnd(12)} ${line}`,
  )
}

/** The lines that are printed when a session has ended, from all of its events. */
export async function closingLines(
  client: DaemonConnection,
  endedSession: SessionView | Promise<SessionView>,
  { id, terminal }: { id: string; terminal: Terminal },
): Promise<string[]> {
  const path = `/sessions/${id}/events?kinds=${SUMMARY_KINDS.join(',')}`
  const reply = client.request<{ events: SummaryEvent[] }>('GET', path)
  const [session, { events }] = await Promise.all([endedSession, reply])
  return summaryLines(session, summarise(events), terminal)
}

/** The end of a session that has no end event because its daemon died, taken from the session's current state. */
export function interruptedLines({ status, reason, ended_at }: SessionView, terminal: Terminal): string[] {
  if (status !== 'error' || ended_at !== null) return []
  const lines = wrap(`Session ${neutral(reason ?? 'interrupted')}`, terminal.width - INDENT)
  return lines.map(line => `${' '.repeat(INDENT)}${terminal.paint('red', line)}`)
}

/** The exit code of a command that watched a session until its end: only `completed` is 0. */
export function exitCodeFor({ status }: Pick<SessionView, 'status'>): number {
  return status === 'idle' || status === 'processing' ? 1 : EXIT_CODES[status]
}

const EXIT_CODES: Record<EndedAs, number> = {
  completed: 0,
  error: 1,
  waiting_input: 3,
  rate_limited: 4,
  paused: 4,
  stopped: 130,
}
