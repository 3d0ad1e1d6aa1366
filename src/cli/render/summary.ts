import type { SessionView } from '../../domain/api.ts'
import { isAutomatic } from '../../domain/escalation.ts'
import type { EventBody, StoredEvent } from '../../domain/event.ts'
import type { DaemonConnection } from '../connection/connection.ts'
import { commandsToResume, counted, duration, fullCount, money, statusWords, wakeTime } from './format.ts'
import { cut, firstLine, INDENT, neutral, type Terminal, wrap } from './text.ts'

export interface Summary {
  files: { written: string[]; edited: string[] }
  commands: { command: string; ok: boolean }[]
  /** Allowed and begun, but no result came back: the agent was ended in the middle. */
  cutOff: { tool: string; target: string }[]
  refused: { tool: string; target: string; reason: string; by: string }[]
  answered: { auto: number; human: number }
  approved: { auto: number; human: number }
}

/** The events a summary is made of. */
const SUMMARY_KINDS = ['permission.decided', 'tool.finished', 'question.answered'] as const

const EDITORS = new Set(['Edit', 'MultiEdit', 'NotebookEdit'])

/** What was done, decided and refused, from the events alone. */
export function summaryOf(events: StoredEvent[]): Summary {
  const summary: Summary = {
    files: { written: [], edited: [] },
    commands: [],
    cutOff: [],
    refused: [],
    answered: { auto: 0, human: 0 },
    approved: { auto: 0, human: 0 },
  }
  // Only what was allowed can have happened: a call may also come back unjudged, because its input made no sense.
  const running = new Map<string, { tool: string; target: string }>()
  for (const event of events) {
    if (event.kind === 'permission.decided') {
      decided(event.body, summary)
      if (event.body.verdict === 'allow') running.set(event.body.call_id, event.body)
    }
    if (event.kind === 'tool.finished' && running.delete(event.body.call_id)) finished(event.body, summary)
    if (event.kind === 'question.answered' && event.body.declined === undefined)
      summary.answered[sideOf(event.body.by)] += Object.keys(event.body.answers).length
  }
  summary.cutOff = [...running.values()].filter(({ tool }) => tool === 'Bash' || tool === 'Write' || EDITORS.has(tool))
  return summary
}

/** The closing lines of a session: done, decided, refused, how long, how much. */
export function summaryLines(session: SessionView, summary: Summary, terminal: Terminal): string[] {
  const status = statusWords(session)
  // A limit and a parked question have told their reason in the events above.
  const reason = ['rate_limited', 'waiting_input'].includes(session.status) ? null : session.reason
  const row = (name: string, text: string) => indented(name, text, terminal)
  return [
    '',
    terminal.paint('bold', `Summary of ${session.id} (${firstLine(session.name)})`),
    terminal.paint('dim', '─'.repeat(Math.min(38, terminal.width))),
    ...row('Status', status.text + (reason ? `: ${reason}` : '')),
    ...resumption(session.resumes_at, Date.now()).flatMap(text => row('Resumes', text)),
    ...done(summary).flatMap((text, index) => row(index === 0 ? 'Done' : '', text)),
    ...row('Decided', decisions(summary)),
    ...refusals(summary, terminal),
    ...row('Took', duration((session.ended_at ?? Date.now()) - session.created_at)),
    ...row('Tokens', `${fullCount(session.tokens.input)} in, ${fullCount(session.tokens.output)} out`),
    ...row('Cost', `${money(session.cost_usd)} in ${counted(session.turns, 'turn')}`),
    ...commandsToResume(session, reason).flatMap(text => row('Go on', text)),
  ]
}

/** A time that has passed says nothing: a person holds it, or it waits for its turn. */
function resumption(resumesAt: number | null, now: number): string[] {
  return resumesAt === null || resumesAt <= now ? [] : [`by itself at ${wakeTime(resumesAt, now)}`]
}

function decided(body: EventBody<'permission.decided'>, summary: Summary): void {
  if (body.verdict === 'allow') {
    summary.approved[sideOf(body.by)]++
    return
  }
  summary.refused.push({ tool: body.tool, target: body.target, reason: body.reason, by: body.by })
}

function finished({ tool, target, ok }: EventBody<'tool.finished'>, { files, commands }: Summary): void {
  if (tool === 'Bash') commands.push({ command: target, ok })
  if (!ok) return
  if (tool === 'Write' && !files.written.includes(target)) files.written.push(target)
  if (EDITORS.has(tool) && !files.edited.includes(target)) files.edited.push(target)
}

function sideOf(by: string): 'auto' | 'human' {
  return isAutomatic(by) ? 'auto' : 'human'
}

function done({ files, commands, cutOff }: Summary): string[] {
  const lines = [
    ...(files.written.length ? [`wrote ${files.written.map(firstLine).join(', ')}`] : []),
    ...(files.edited.length ? [`edited ${files.edited.map(firstLine).join(', ')}`] : []),
    ...commands.map(({ command, ok }) => `ran ${firstLine(command)} ${ok ? '✓' : '✗'}`),
    ...cutOff.map(({ tool, target }) => `began ${tool} → ${firstLine(target)}, cut off before its result`),
  ]
  return lines.length ? lines : ['nothing was written or run']
}

function decisions({ approved, answered }: Summary): string {
  const tools = `${counted(approved.auto + approved.human, 'tool')} allowed (${approved.auto} auto, ${approved.human} human)`
  const questions = answered.auto + answered.human
  return questions === 0 ? tools : `${tools}, ${counted(questions, 'question')} answered`
}

function refusals({ refused }: Summary, terminal: Terminal): string[] {
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

/** What is printed when a session is over, from all of its events. */
export async function closingLines(
  client: DaemonConnection,
  over: SessionView | Promise<SessionView>,
  { id, terminal }: { id: string; terminal: Terminal },
): Promise<string[]> {
  const path = `/sessions/${id}/events?kinds=${SUMMARY_KINDS.join(',')}`
  const asked = client.request<{ events: StoredEvent[] }>('GET', path)
  const [session, { events }] = await Promise.all([over, asked])
  return summaryLines(session, summaryOf(events), terminal)
}

/** The end of a session that has none in its log, because the daemon that ran it died: told from what it shows now. */
export function interruptedLines({ status, reason, ended_at }: SessionView, terminal: Terminal): string[] {
  if (status !== 'error' || ended_at !== null) return []
  const lines = wrap(`Session ${neutral(reason ?? 'interrupted')}`, terminal.width - INDENT)
  return lines.map(line => `${' '.repeat(INDENT)}${terminal.paint('red', line)}`)
}

/** The exit code of a command that saw a session end: only `completed` is 0. */
export function exitCodeFor(session: SessionView): number {
  switch (session.status) {
    case 'completed':
      return 0
    case 'waiting_input':
      return 3
    case 'rate_limited':
    case 'paused':
      return 4
    case 'stopped':
      return 130
    default:
      return 1
  }
}
