import { clockTime } from '../../base/clock.ts'
import { neutral } from '../../base/neutral.ts'
import type { EventBody, EventOf, StoredEvent } from '../../domain/event.ts'
import {
  agentName,
  askedQuestionLines,
  parkedPermissionLines,
  parkedQuestionLines,
  permissionLines,
} from './ask-lines.ts'
import { duration } from './format.ts'
import { planLines } from './session-page.ts'
import {
  agentChangedText,
  budgetWarningText,
  completionLines,
  guardText,
  isCompletionEvent,
  isTaskEvent,
  limitHitText,
  limitWarningText,
  resumeTimeText,
  type TasksSeen,
  taskEventLines,
} from './task-lines.ts'
import { cut, firstLine, INDENT, type LineOptions, type Terminal, type Tone, wrap } from './text.ts'
import { calledLines, toolLine, toolResult } from './tool-lines.ts'

/** What is kept of earlier events, because later events are drawn with it. */
interface History {
  /** The inputs of requested calls, so that an ask shows the whole input. */
  inputs: Map<string, Record<string, unknown>>
  /** When calls were allowed: a call that takes long is reported when it is done. */
  allowed: Map<string, number>
  refused: Set<string>
  /** Failure reasons that were already shown: none is shown twice. */
  shownReasons: Set<string>
  /** Numbers of asks that are open at a terminal: their answer is shown together with what it decides. */
  open: Set<number>
  tasks: TasksSeen
  /** The session's agent. */
  agent: string | undefined
}

/** Draws stored events as the lines of the live view. */
export function eventLines(options: LineOptions): (event: StoredEvent) => string[] {
  const history: History = {
    inputs: new Map(),
    allowed: new Map(),
    refused: new Set(),
    shownReasons: new Set(),
    open: new Set(),
    tasks: { ids: new Set(), fromStart: false },
    agent: options.agent,
  }
  return stored => {
    if (stored.kind === 'session.created') history.agent = stored.body.agent
    const event = { ...stored, body: neutralDeep(stored.body) } as StoredEvent
    const lines = addTimestamp(event.time, bodyLines(event, options, history), options.terminal)
    remember(event, history)
    return lines
  }
}

function remember(event: StoredEvent, { inputs, allowed, refused, shownReasons, open, tasks }: History): void {
  if (event.kind === 'permission.asked' || event.kind === 'question.asked') open.add(event.body.number ?? 0)
  if (event.kind === 'permission.parked' || event.kind === 'question.parked') open.delete(event.body.number ?? 0)
  if (event.kind === 'session.created') tasks.fromStart = true
  if (isTaskEvent(event)) tasks.ids.add(event.body.task_id)
  if (event.kind === 'tool.requested') inputs.set(event.body.call_id, event.body.input)
  if (event.kind === 'permission.decided' && event.body.verdict === 'deny') refused.add(event.body.call_id)
  if (event.kind === 'permission.decided' && event.body.verdict === 'allow') allowed.set(event.body.call_id, event.time)
  if (event.kind === 'agent.retried') shownReasons.add(event.body.failure.message)
  if (event.kind === 'limit.hit') shownReasons.add(event.body.message)
  if (event.kind === 'question.parked') shownReasons.add(event.body.reason)
  if (event.kind !== 'tool.finished') return
  inputs.delete(event.body.call_id)
  allowed.delete(event.body.call_id)
}

function bodyLines(event: StoredEvent, options: LineOptions, history: History): string[] {
  const { terminal, verbose } = options
  if (isTaskEvent(event)) return taskEventLines(event, terminal, history.tasks)
  if (isCompletionEvent(event)) return completionLines(event, terminal)
  switch (event.kind) {
    case 'session.created':
      return [createdLine(event.body)]
    case 'session.noted':
      return prose('Note:', event.body.text, 'yellow', terminal)
    case 'speaker.refused':
      return prose('Note:', refusedSpeakerText(event.body), 'yellow', terminal)
    case 'agent.started':
      return [startedLine(event.body, history.agent)]
    case 'agent.said':
      return prose(speakerHeading(event.body.agent_id, history.agent), event.body.text, 'bold', terminal)
    case 'agent.thought':
      return prose('Thinking:', event.body.text, 'dim', terminal, 'dim')
    case 'agent.retried':
      return prose('↻', retryText(event.body, history.shownReasons), 'yellow', terminal)
    case 'agent.compacted':
      return event.body.state === 'started' ? [terminal.paint('dim', 'Compacting the conversation...')] : []
    case 'permission.asked':
      return permissionLines(event.body, terminal, history.inputs.get(event.body.call_id))
    case 'permission.decided':
      return toolLine(event.body, options)
    case 'escalation.answered':
      if (history.open.has(event.body.number)) return []
      return prose(`Decision ${event.body.number}:`, decisionText(event.body), 'bold', terminal)
    case 'allowance.used':
      return prose(`Decision ${event.body.number}:`, usedText(event.body), 'bold', terminal)
    case 'tool.finished':
      // A refusal was shown when it was decided.
      if (history.refused.has(event.body.call_id)) return []
      return toolResult(event.body, options, event.time - (history.allowed.get(event.body.call_id) ?? event.time))
    case 'question.asked':
      return askedQuestionLines(event.body, terminal, history.agent)
    case 'question.parked':
      if (options.attended && history.open.has(event.body.number ?? 0)) return unansweredLines(event.body, terminal)
      return parkedQuestionLines(event.body, terminal, { here: options.answeredHere, agent: history.agent })
    case 'permission.parked':
      if (options.attended && history.open.has(event.body.number ?? 0)) return unansweredLines(event.body, terminal)
      return parkedPermissionLines(event.body, terminal, {
        input: history.inputs.get(event.body.call_id),
        here: options.answeredHere,
      })
    case 'question.answered':
      return answerLines(event.body, terminal)
    case 'plan.changed':
      return planChangedLines(event.body, terminal)
    case 'usage.reported':
      return verbose
        ? [terminal.paint('dim', `Tokens: ${event.body.input_tokens} in, ${event.body.output_tokens} out`)]
        : []
    case 'limit.warned':
      return prose('⚠ Limit:', limitWarningText(event.body, event.time), 'yellow', terminal)
    case 'limit.hit':
      return prose('⏳ Limit:', limitHitText(event.body, event.time), 'yellow', terminal)
    case 'budget.warned':
      return prose('⚠ Budget:', budgetWarningText(event.body), 'yellow', terminal)
    case 'guard.tripped':
      return prose('⚠ Guard:', guardText(event.body), 'yellow', terminal)
    case 'session.ended':
      return endLines(event, options, history.shownReasons)
    case 'agent.changed':
      return prose('⇄ Agent:', agentChangedText(event.body, event.time), 'yellow', terminal)
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
    case 'model.asked': // pcc budget and pcc report count them
    case 'budget.spent': // the session ends, and that event gives the reason
    case 'turn.ended': // after a failure the session ends, and that event gives the reason
    case 'worktree.made': // of a task: pcc task log shows them
    case 'worktree.removed':
    case 'run.started':
    case 'run.held_up': // the run's own lines give the reason
    case 'run.ended':
    case 'report.made':
    case 'agent.notified': // the agent's own terminal shows it
    case 'schedule.set':
    case 'schedule.fired':
    case 'schedule.skipped':
    case 'schedule.cancelled':
    case 'feature.moved':
    case 'feature.deleted':
    case 'hook.captured': // of a session that is only observed: pcc hooks log shows them
    case 'daemon.started':
    case 'daemon.recovered':
    case 'daemon.stopped':
    case 'disk.freed':
    case 'webhook.given_up':
      return []
    default:
      event satisfies never // the compiler names a kind that has no case
      return []
  }
}

function refusedSpeakerText({ what, command, pid, count }: EventBody<'speaker.refused'>): string {
  const often = count === 1 ? '' : `, ${count} times`
  return `A process of this session tried to speak for you and was refused: ${what} by ${command} (pid ${pid})${often}`
}

/** Makes every string of an event safe to print, in one place before anything is drawn, so that none is forgotten. */
function neutralDeep(value: unknown): unknown {
  if (typeof value === 'string') return neutral(value)
  if (Array.isArray(value)) return value.map(neutralDeep)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [neutral(name), neutralDeep(inner)]))
}

function addTimestamp(time: number, lines: string[], terminal: Terminal): string[] {
  const stamp = terminal.paint('dim', `[${clockTime(time)}]`)
  return lines.map((line, index) => (index === 0 ? `${stamp} ${line}` : `${' '.repeat(INDENT)}${line}`.trimEnd()))
}

/** A heading followed by wrapped text. */
function prose(heading: string, text: string, tone: Tone, terminal: Terminal, body?: Tone): string[] {
  const whole = `${heading} ${neutral(text).trim()}`.trimEnd()
  return wrap(whole, terminal.width - INDENT).map((line, index) => {
    const rest = index === 0 ? line.slice(heading.length) : line
    return (index === 0 ? terminal.paint(tone, heading) : '') + (body ? terminal.paint(body, rest) : rest)
  })
}

function speakerHeading(agentId: string | undefined, agent: string | undefined): string {
  const name = agentName(agent).speaker
  return agentId ? `${name} (subagent ${firstLine(agentId).slice(0, 8)}):` : `${name}:`
}

function createdLine({ agent, resumed }: EventBody<'session.created'>): string {
  const { program } = agentName(agent)
  return resumed ? `Resuming a ${program} session...` : `Starting ${program} session...`
}

function startedLine({ model, version, resumed }: EventBody<'agent.started'>, agent: string | undefined): string {
  const [program, of] = [version ? ` ${firstLine(version)}` : '', model ? ` (${firstLine(model)})` : '']
  return `${agentName(agent).program}${program} ${resumed ? 'goes on' : 'is ready'}${of}`
}

function retryText(body: EventBody<'agent.retried'>, shownReasons: Set<string>): string {
  const { attempt, max_retries, delay_ms, failure } = body
  const reason = shownReasons.has(failure.message) ? '' : `: ${failure.message}`
  return `retry ${attempt} of ${max_retries} in ${duration(delay_ms)}${reason}`
}

const END_HEADINGS: Record<EventBody<'session.ended'>['status'], string> = {
  completed: 'Session completed.',
  stopped: 'Session stopped.',
  paused: 'Session paused.',
  rate_limited: 'Session stopped by a limit.',
  waiting_input: 'Session waits for an answer.',
  error: 'Session ended with an error.',
}

const WAITS_FOR_RESET = 'Session waits for the limit to reset.'

function endLines({ body, time }: EventOf<'session.ended'>, options: LineOptions, shownReasons: Set<string>): string[] {
  const { terminal, reasonElsewhere } = options
  const heading = body.status === 'rate_limited' && body.resumes_at ? WAITS_FOR_RESET : END_HEADINGS[body.status]
  const tone = body.status === 'error' ? 'red' : 'bold'
  // The summary leaves out the reason of a limit, because it is shown here; a session that goes on by itself has no summary.
  const isElsewhere = reasonElsewhere && body.status !== 'rate_limited' && body.resumes_at === undefined
  const isShown = [...shownReasons].some(text => text !== '' && body.reason.startsWith(text))
  return prose(heading, `${resumeTimeText(body, time)} ${isElsewhere || isShown ? '' : body.reason}`, tone, terminal)
}

/** The lines for a person who still has the unanswered ask on the screen. */
function unansweredLines({ number }: { number?: number | undefined }, terminal: Terminal): string[] {
  const text = `no agent waits for it any more. Answer it here as before, or elsewhere by its number: pcc respond ${number}`
  return prose('Nobody has answered yet:', text, 'yellow', terminal)
}

function usedText({ tool, target, by }: EventBody<'allowance.used'>): string {
  return `allowed once by ${firstLine(by)}, used now: ${tool} → ${firstLine(target)}`
}

function decisionText(body: EventBody<'escalation.answered'>): string {
  const { verdict, answer, by, tool, target, reason, late, again } = body
  const action = answer ? 'answered' : verdict !== 'allow' ? 'denied' : again ? 'allowed once' : 'approved'
  const who = late ? `${by}, later` : by
  // What the column calls landing is work that is checked and merged: its target names the task.
  const subject = answer || tool === 'landing' ? firstLine(target) : `${tool} → ${firstLine(target)}`
  const text = `${action} by ${who}: ${subject}`
  return reason === undefined ? text : `${text} (${reason})`
}

function answerLines(body: EventBody<'question.answered'>, terminal: Terminal): string[] {
  const heading = `Answer (${firstLine(body.by)}):`
  if (body.declined !== undefined) return prose(heading, `none: ${body.declined}`, 'yellow', terminal)
  const answers = Object.values(body.answers).map(answer => (Array.isArray(answer) ? answer.join(', ') : answer))
  return [...prose(heading, answers.join(' · '), 'green', terminal), ...answerReasonLines(body, terminal)]
}

/** The reasoning of an automatic answer: when and by whom it was given before, or the brain's reasoning and confidence. */
function answerReasonLines(
  { by, reasoning, confidence }: EventBody<'question.answered'>,
  { width, paint }: Terminal,
): string[] {
  if (!reasoning) return []
  const confidenceText =
    by === 'memory' || confidence === undefined ? '' : ` (confidence: ${Math.round(confidence * 100)}%)`
  return wrap(`${neutral(reasoning)}${confidenceText}`, width - INDENT - 2).map(line => paint('dim', `  ${line}`))
}

function planChangedLines({ items }: EventBody<'plan.changed'>, terminal: Terminal): string[] {
  const done = items.filter(item => item.state === 'done').length
  return [
    terminal.paint('cyan', `[PLAN] ${done} of ${items.length} done`),
    ...planLines(items, terminal).map(line => `  ${line}`),
  ]
}

/** Further reasons only repeat the first ones. */
const MOST_REASONS = 3

/** Like `eventLines`, but decisions are drawn in detail: risk, who decided, confidence, latency, rule and reasons. */
export function decisionLines(options: LineOptions): (event: StoredEvent) => string[] {
  const drawOther = eventLines(options)
  return event => (event.kind === 'permission.decided' ? detailedDecision(event, options) : drawOther(event))
}

function detailedDecision({ time, body }: EventOf<'permission.decided'>, { terminal }: LineOptions): string[] {
  const { verdict, risk, tool, target } = body
  const mark = terminal.paint(verdict === 'allow' ? 'green' : 'red', verdict === 'allow' ? '✓ allowed' : '✗ denied ')
  const call = cut(`${firstLine(tool)} → ${firstLine(target)}`, terminal.width - INDENT - 18)
  const indented = (text: string) =>
    wrap(neutral(text), terminal.width - INDENT - 2).map(
      line => `${' '.repeat(INDENT + 2)}${terminal.paint('dim', line)}`,
    )
  return [
    `${terminal.paint('dim', `[${clockTime(time)}]`)} ${mark} ${risk.padEnd(6)} ${call}`,
    ...indented(`by ${firstLine(body.by)} (${Math.round(body.confidence * 100)}% sure, ${latency(body.latency_ms)})`),
    ...(body.rule === undefined ? [] : indented(`rule: ${firstLine(body.rule)}`)),
    ...indented(firstLine(body.reason)),
    ...furtherReasons(body).flatMap(indented),
  ]
}

/** The further reasons above LOW risk that the main reason does not already contain. */
function furtherReasons({ reason, reasons = [] }: EventBody<'permission.decided'>): string[] {
  return reasons
    .filter(({ risk, text }) => risk !== 'LOW' && !reason.includes(text))
    .slice(0, MOST_REASONS)
    .map(({ code, text }) => `${firstLine(code)}: ${firstLine(text)}`)
}

function latency(ms: number): string {
  return ms < 1000 ? `${Math.round(ms * 10) / 10} ms` : `${Math.round(ms / 100) / 10} s`
}
