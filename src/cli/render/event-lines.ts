import type { EventBody, EventOf, StoredEvent } from '../../domain/event.ts'
import { agentName, askedPermission, askedQuestions, parkedPermission, parkedQuestions } from './ask-lines.ts'
import { clockTime, duration } from './format.ts'
import { planLines } from './session-page.ts'
import {
  budgetText,
  changedText,
  completionLines,
  goesOnText,
  guardText,
  hitText,
  isCompletionEvent,
  isTaskEvent,
  type TasksSeen,
  taskEventLines,
  warnedText,
} from './task-lines.ts'
import { cut, firstLine, INDENT, type LineOptions, neutral, type Terminal, type Tone, wrap } from './text.ts'
import { calledLines, toolLine, toolResult } from './tool-lines.ts'

/** What earlier events said and a later one is drawn by. */
interface Before {
  /** What was wanted, so that a person sees all of it when asked. */
  inputs: Map<string, Record<string, unknown>>
  /** When calls were allowed: what takes long is told when it is done. */
  allowed: Map<string, number>
  refused: Set<string>
  /** Why things went wrong, as far as it was told: nothing is told twice. */
  told: Set<string>
  /** Numbers of what is asked at a terminal: the answer is told with what it decides. */
  open: Set<number>
  tasks: TasksSeen
  /** The session's agent. */
  agent: string | undefined
}

/** Draws stored events as the lines of the live view. */
export function eventLines(options: LineOptions): (event: StoredEvent) => string[] {
  const before: Before = {
    inputs: new Map(),
    allowed: new Map(),
    refused: new Set(),
    told: new Set(),
    open: new Set(),
    tasks: { ids: new Set(), fromStart: false },
    agent: options.agent,
  }
  return stored => {
    if (stored.kind === 'session.created') before.agent = stored.body.agent
    const event = { ...stored, body: harmless(stored.body) } as StoredEvent
    const lines = stamped(event.time, bodyLines(event, options, before), options.terminal)
    remember(event, before)
    return lines
  }
}

function remember(event: StoredEvent, { inputs, allowed, refused, told, open, tasks }: Before): void {
  if (event.kind === 'permission.asked' || event.kind === 'question.asked') open.add(event.body.number ?? 0)
  if (event.kind === 'permission.parked' || event.kind === 'question.parked') open.delete(event.body.number ?? 0)
  if (event.kind === 'session.created') tasks.fromStart = true
  if (isTaskEvent(event)) tasks.ids.add(event.body.task_id)
  if (event.kind === 'tool.requested') inputs.set(event.body.call_id, event.body.input)
  if (event.kind === 'permission.decided' && event.body.verdict === 'deny') refused.add(event.body.call_id)
  if (event.kind === 'permission.decided' && event.body.verdict === 'allow') allowed.set(event.body.call_id, event.time)
  if (event.kind === 'agent.retried') told.add(event.body.failure.message)
  if (event.kind === 'limit.hit') told.add(event.body.message)
  if (event.kind === 'question.parked') told.add(event.body.reason)
  if (event.kind !== 'tool.finished') return
  inputs.delete(event.body.call_id)
  allowed.delete(event.body.call_id)
}

function bodyLines(event: StoredEvent, options: LineOptions, before: Before): string[] {
  const { terminal, verbose } = options
  if (isTaskEvent(event)) return taskEventLines(event, terminal, before.tasks)
  if (isCompletionEvent(event)) return completionLines(event, terminal)
  switch (event.kind) {
    case 'session.created':
      return [createdLine(event.body)]
    case 'session.noted':
      return prose('Note:', event.body.text, 'yellow', terminal)
    case 'agent.started':
      return [startedLine(event.body, before.agent)]
    case 'agent.said':
      return prose(speaker(event.body.agent_id, before.agent), event.body.text, 'bold', terminal)
    case 'agent.thought':
      return prose('Thinking:', event.body.text, 'dim', terminal, 'dim')
    case 'agent.retried':
      return prose('↻', retryText(event.body, before.told), 'yellow', terminal)
    case 'agent.compacted':
      return event.body.state === 'started' ? [terminal.paint('dim', 'Compacting the conversation...')] : []
    case 'permission.asked':
      return askedPermission(event.body, terminal, before.inputs.get(event.body.call_id))
    case 'permission.decided':
      return toolLine(event.body, options)
    case 'escalation.answered':
      if (before.open.has(event.body.number)) return []
      return prose(`Decision ${event.body.number}:`, decisionText(event.body), 'bold', terminal)
    case 'tool.finished':
      // A refusal was told when it was decided.
      if (before.refused.has(event.body.call_id)) return []
      return toolResult(event.body, options, event.time - (before.allowed.get(event.body.call_id) ?? event.time))
    case 'question.asked':
      return askedQuestions(event.body, terminal, before.agent)
    case 'question.parked':
      if (options.attended && before.open.has(event.body.number ?? 0)) return unansweredLines(event.body, terminal)
      return parkedQuestions(event.body, terminal, { here: options.answeredHere, agent: before.agent })
    case 'permission.parked':
      if (options.attended && before.open.has(event.body.number ?? 0)) return unansweredLines(event.body, terminal)
      return parkedPermission(event.body, terminal, {
        input: before.inputs.get(event.body.call_id),
        here: options.answeredHere,
      })
    case 'question.answered':
      return answerLines(event.body, terminal)
    case 'plan.changed':
      return planChanged(event.body, terminal)
    case 'usage.reported':
      return verbose
        ? [terminal.paint('dim', `Tokens: ${event.body.input_tokens} in, ${event.body.output_tokens} out`)]
        : []
    case 'limit.warned':
      return prose('⚠ Limit:', warnedText(event.body, event.time), 'yellow', terminal)
    case 'limit.hit':
      return prose('⏳ Limit:', hitText(event.body, event.time), 'yellow', terminal)
    case 'budget.warned':
      return prose('⚠ Budget:', budgetText(event.body), 'yellow', terminal)
    case 'guard.tripped':
      return prose('⚠ Guard:', guardText(event.body), 'yellow', terminal)
    case 'session.ended':
      return endLines(event, options, before.told)
    case 'agent.changed':
      return prose('⇄ Agent:', changedText(event.body, event.time), 'yellow', terminal)
    case 'session.resumed':
      return prose('▶ Session goes on:', event.body.reason, 'green', terminal)
    case 'tool.requested':
      return verbose
        ? [terminal.paint('dim', `${event.body.tool} → ${cut(firstLine(event.body.target), 100)} ...`)]
        : []
    case 'merge.landed':
      return prose('✔ Merged:', `${event.body.commit.slice(0, 12)} into ${event.body.target}`, 'green', terminal)
    case 'merge.held_up':
      return prose('⏳ Merge waits:', event.body.reason, 'yellow', terminal)
    case 'person.called':
      return calledLines(event, terminal)
    case 'budget.spent': // it ends the session, which tells of it
    case 'turn.ended': // a failure ends the session, which tells of it
    case 'run.started':
    case 'run.ended':
    case 'report.made':
    case 'schedule.set':
    case 'schedule.fired':
    case 'schedule.skipped':
    case 'schedule.cancelled':
    case 'feature.moved':
    case 'feature.deleted':
    case 'daemon.started':
    case 'daemon.recovered':
    case 'daemon.stopped':
    case 'disk.freed':
      return []
  }
}

/** Every text of an event, however deep, before anything is drawn from it: one place to forget nothing in. */
function harmless(value: unknown): unknown {
  if (typeof value === 'string') return neutral(value)
  if (Array.isArray(value)) return value.map(harmless)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [neutral(name), harmless(inner)]))
}

function stamped(time: number, lines: string[], terminal: Terminal): string[] {
  const stamp = terminal.paint('dim', `[${clockTime(time)}]`)
  return lines.map((line, index) => (index === 0 ? `${stamp} ${line}` : `${' '.repeat(INDENT)}${line}`.trimEnd()))
}

/** A heading, then text that is wrapped under itself. */
function prose(heading: string, text: string, tone: Tone, terminal: Terminal, body?: Tone): string[] {
  const whole = `${heading} ${neutral(text).trim()}`.trimEnd()
  return wrap(whole, terminal.width - INDENT).map((line, index) => {
    const rest = index === 0 ? line.slice(heading.length) : line
    return (index === 0 ? terminal.paint(tone, heading) : '') + (body ? terminal.paint(body, rest) : rest)
  })
}

function speaker(agentId: string | undefined, agent: string | undefined): string {
  const name = agentName(agent).speaker
  return agentId ? `${name} (subagent ${firstLine(agentId).slice(0, 8)}):` : `${name}:`
}

function createdLine({ agent, resumed }: EventBody<'session.created'>): string {
  const { program } = agentName(agent)
  return resumed ? `Resuming a ${program} session...` : `Starting ${program} session...`
}

function startedLine({ model, version, resumed }: EventBody<'agent.started'>, agent: string | undefined): string {
  return `${agentName(agent).program} ${version ? `${version} ` : ''}${resumed ? 'goes on' : 'is ready'}${model ? ` (${model})` : ''}`
}

function retryText({ attempt, max_retries, delay_ms, failure }: EventBody<'agent.retried'>, told: Set<string>): string {
  const why = told.has(failure.message) ? '' : `: ${failure.message}`
  return `retry ${attempt} of ${max_retries} in ${duration(delay_ms)}${why}`
}

const END_WORDS: Record<EventBody<'session.ended'>['status'], string> = {
  completed: 'Session completed.',
  stopped: 'Session stopped.',
  paused: 'Session paused.',
  rate_limited: 'Session stopped by a limit.',
  waiting_input: 'Session waits for an answer.',
  error: 'Session ended with an error.',
}

const WAITS_FOR_RESET = 'Session waits for the limit to reset.'

function endLines({ body, time }: EventOf<'session.ended'>, options: LineOptions, told: Set<string>): string[] {
  const { terminal, reasonElsewhere } = options
  const heading = body.status === 'rate_limited' && body.resumes_at ? WAITS_FOR_RESET : END_WORDS[body.status]
  const tone = body.status === 'error' ? 'red' : 'bold'
  // The summary leaves a limit's reason out, because it is told here; and what goes on by itself is followed by none.
  const isElsewhere = reasonElsewhere && body.status !== 'rate_limited' && body.resumes_at === undefined
  const isTold = [...told].some(text => text !== '' && body.reason.startsWith(text))
  return prose(heading, `${goesOnText(body, time)} ${isElsewhere || isTold ? '' : body.reason}`, tone, terminal)
}

/** To who is asked and has not answered: it is in their sight already. */
function unansweredLines({ number }: { number?: number | undefined }, terminal: Terminal): string[] {
  const text = `no agent waits for it any more. Answer it here as before, or elsewhere by its number: pcc respond ${number}`
  return prose('Nobody has answered yet:', text, 'yellow', terminal)
}

function decisionText(body: EventBody<'escalation.answered'>): string {
  const { verdict, answer, by, tool, target, reason, late } = body
  const what = answer ? 'answered' : verdict === 'allow' ? 'approved' : 'denied'
  const who = late ? `${by}, later` : by
  const said = answer ? `${what} by ${who}: ${firstLine(target)}` : `${what} by ${who}: ${tool} → ${firstLine(target)}`
  return reason === undefined ? said : `${said} (${reason})`
}

function answerLines(body: EventBody<'question.answered'>, terminal: Terminal): string[] {
  const heading = `Answer (${firstLine(body.by)}):`
  if (body.declined !== undefined) return prose(heading, `none: ${body.declined}`, 'yellow', terminal)
  const answers = Object.values(body.answers).map(answer => (Array.isArray(answer) ? answer.join(', ') : answer))
  return [...prose(heading, answers.join(' · '), 'green', terminal), ...whyAnswered(body, terminal)]
}

/** Of an answer without a person: as when and by whom it was given before, or what the brain made of it and how sure it was. */
function whyAnswered(
  { by, reasoning, confidence }: EventBody<'question.answered'>,
  { width, paint }: Terminal,
): string[] {
  if (!reasoning) return []
  const sure = by === 'memory' || confidence === undefined ? '' : ` (confidence: ${Math.round(confidence * 100)}%)`
  return wrap(`${neutral(reasoning)}${sure}`, width - INDENT - 2).map(line => paint('dim', `  ${line}`))
}

function planChanged({ items }: EventBody<'plan.changed'>, terminal: Terminal): string[] {
  const done = items.filter(item => item.state === 'done').length
  return [
    terminal.paint('cyan', `[PLAN] ${done} of ${items.length} done`),
    ...planLines(items, terminal).map(line => `  ${line}`),
  ]
}

/** More of them say the same again. */
const MOST_REASONS = 3

/** Decisions with all that is known of them: risk, who, how sure, how long it took, the rule, and why. */
export function decisionLines(options: LineOptions): (event: StoredEvent) => string[] {
  const other = eventLines(options)
  return event => (event.kind === 'permission.decided' ? decided(event, options) : other(event))
}

function decided({ time, body }: EventOf<'permission.decided'>, { terminal }: LineOptions): string[] {
  const { verdict, risk, tool, target } = body
  const mark = terminal.paint(verdict === 'allow' ? 'green' : 'red', verdict === 'allow' ? '✓ allowed' : '✗ denied ')
  const what = cut(`${firstLine(tool)} → ${firstLine(target)}`, terminal.width - INDENT - 18)
  const under = (text: string) =>
    wrap(neutral(text), terminal.width - INDENT - 2).map(
      line => `${' '.repeat(INDENT + 2)}${terminal.paint('dim', line)}`,
    )
  return [
    `${terminal.paint('dim', `[${clockTime(time)}]`)} ${mark} ${risk.padEnd(6)} ${what}`,
    ...under(`by ${firstLine(body.by)} (${Math.round(body.confidence * 100)}% sure, ${took(body.latency_ms)})`),
    ...(body.rule === undefined ? [] : under(`rule: ${firstLine(body.rule)}`)),
    ...under(firstLine(body.reason)),
    ...reasons(body).flatMap(under),
  ]
}

/** What was seen, unless the reason says it already. */
function reasons({ reason, reasons: seen = [] }: EventBody<'permission.decided'>): string[] {
  return seen
    .filter(({ risk, text }) => risk !== 'LOW' && !reason.includes(text))
    .slice(0, MOST_REASONS)
    .map(({ code, text }) => `${firstLine(code)}: ${firstLine(text)}`)
}

function took(ms: number): string {
  return ms < 1000 ? `${Math.round(ms * 10) / 10} ms` : `${Math.round(ms / 100) / 10} s`
}
