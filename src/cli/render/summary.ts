import type { SessionView } from '../../domain/api.ts'
import { isAutomatic } from '../../domain/decided-by.ts'
import type { EventBody, StoredEvent } from '../../domain/event.ts'
import { duration, fullCount, money, STATUS_WORDS, shellWord, wakeTime } from './format.ts'
import type { Terminal } from './paint.ts'
import { cut, firstLine, neutral, wrap } from './text.ts'

export interface Summary {
  files: { written: string[]; edited: string[] }
  commands: { command: string; ok: boolean }[]
  refused: { tool: string; target: string; reason: string; by: string }[]
  answered: { auto: number; human: number }
  approved: { auto: number; human: number }
}

/** The events a summary is made of. */
export const SUMMARY_KINDS = ['permission.decided', 'tool.finished', 'question.answered'] as const

const EDITORS = new Set(['Edit', 'MultiEdit', 'NotebookEdit'])

/** What was done, decided and refused, from the events alone. */
export function summaryOf(events: StoredEvent[]): Summary {
  const summary: Summary = {
    files: { written: [], edited: [] },
    commands: [],
    refused: [],
    answered: { auto: 0, human: 0 },
    approved: { auto: 0, human: 0 },
  }
  const refused = new Set<string>()
  for (const event of events) {
    if (event.kind === 'permission.decided') decided(event.body, summary, refused)
    if (event.kind === 'tool.finished' && !refused.has(event.body.call_id)) finished(event.body, summary)
    if (event.kind === 'question.answered' && event.body.declined === undefined)
      summary.answered[sideOf(event.body.by)]++
  }
  return summary
}

/** The closing lines of a session: done, decided, refused, how long, how much. */
export function summaryLines(session: SessionView, summary: Summary, terminal: Terminal): string[] {
  const status = STATUS_WORDS[session.status]
  const row = (name: string, text: string) => indented(name, text, terminal)
  return [
    '',
    terminal.paint('bold', `Summary of ${session.id} (${firstLine(session.name)})`),
    terminal.paint('dim', '─'.repeat(Math.min(38, terminal.width))),
    ...row('Status', status.text + (session.reason ? `: ${session.reason}` : '')),
    ...(session.resumes_at === null ? [] : row('Resumes', wakeTime(session.resumes_at, Date.now()))),
    ...done(summary).flatMap((text, index) => row(index === 0 ? 'Done' : '', text)),
    ...row('Decided', decisions(summary)),
    ...refusals(summary, terminal),
    ...row('Took', duration((session.ended_at ?? Date.now()) - session.created_at)),
    ...row('Tokens', `${fullCount(session.tokens.input)} in, ${fullCount(session.tokens.output)} out`),
    ...row('Cost', `${money(session.cost_usd)} in ${session.turns} ${session.turns === 1 ? 'turn' : 'turns'}`),
    ...goOn(session).flatMap(text => row('Go on', text)),
  ]
}

function decided(body: EventBody<'permission.decided'>, summary: Summary, refused: Set<string>): void {
  if (body.verdict === 'allow') {
    summary.approved[sideOf(body.by)]++
    return
  }
  refused.add(body.call_id)
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

function done({ files, commands }: Summary): string[] {
  const lines = [
    ...(files.written.length ? [`wrote ${files.written.map(firstLine).join(', ')}`] : []),
    ...(files.edited.length ? [`edited ${files.edited.map(firstLine).join(', ')}`] : []),
    ...commands.map(({ command, ok }) => `ran ${firstLine(command)} ${ok ? '✓' : '✗'}`),
  ]
  return lines.length ? lines : ['nothing was written or run']
}

function decisions({ approved, answered }: Summary): string {
  const tools = `${approved.auto + approved.human} tools allowed (${approved.auto} auto, ${approved.human} human)`
  const questions = answered.auto + answered.human
  return questions === 0 ? tools : `${tools}, ${questions} ${questions === 1 ? 'question' : 'questions'} answered`
}

function refusals({ refused }: Summary, terminal: Terminal): string[] {
  return refused.flatMap(({ tool, target, reason, by }, index) => [
    ...indented(index === 0 ? 'Refused' : '', `${tool} → ${cut(firstLine(target), 60)} ✗ by ${by}`, terminal),
    ...wrap(neutral(reason), terminal.width - 15).map(line => `${' '.repeat(14)}${terminal.paint('dim', line)}`),
  ])
}

function goOn(session: SessionView): string[] {
  if (session.status === 'waiting_input') return [`pcc attach ${session.id}`]
  if (session.status === 'completed' || !session.vendor_id) return []
  if (session.reason?.includes('--resume')) return []
  return [resumeCommand(session.project, session.vendor_id)]
}

/** How to go on from a session in a new one. */
export function resumeCommand(project: string, vendorId: string): string {
  return `pcc start ${shellWord(neutral(project))} --resume ${shellWord(neutral(vendorId))} --task "…"`
}

function indented(name: string, text: string, terminal: Terminal): string[] {
  return wrap(neutral(text), terminal.width - 13).map(
    (line, index) => `${(index || !name ? '' : `${name}:`).padEnd(12)} ${line}`,
  )
}
