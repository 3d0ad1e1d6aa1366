import { resolve } from 'node:path'
import { neutral, neutralOutput } from '../../base/neutral.ts'
import { isAutomatic } from '../../domain/deciders.ts'
import type { EventBody, EventOf } from '../../domain/event.ts'
import { WRITING_TOOLS } from '../../domain/file-tools.ts'
import { toolCallName } from '../../domain/own-server.ts'
import { duration } from './format.ts'
import { cut, cutAtWord, firstLine, INDENT, type LineOptions, type Terminal, widthOf, wrap } from './text.ts'

/** A tool's error is cut to this many lines: the first lines say what went wrong, the rest is in the logs. */
const ERROR_LINES = 5
/** A tool that takes longer gets a line when it is done, because its first line was shown when it started. */
const LONG_MS = 2000
/** A target cut shorter than this is meaningless; the verdict then moves to a line of its own. */
const SHORTEST_TARGET = 16
/** The most characters of the brain's reason: enough to see how it understood the call. */
const LONGEST_OPINION = 60
/** How the rules' reason for ordinary work begins. */
const INSIDE = 'inside the project'
/** The agent's own list of steps: `[PLAN]` lines show the result. */
const PLAN_TOOLS = new Set(['TodoWrite', 'TaskCreate', 'TaskUpdate', 'TaskList', 'TaskGet'])
const QUESTION_TOOLS: ReadonlySet<string> = new Set(['AskUserQuestion', toolCallName('ask_human')])

/** `[TOOL] Write → src/x.ts ✓ (auto-approved)`, or the refusal with its reason. */
export function toolLine(body: EventBody<'permission.decided'>, options: LineOptions): string[] {
  const { terminal } = options
  if (PLAN_TOOLS.has(body.tool) && body.by === 'policy' && !options.verbose) return []
  const head = `${body.agent_id ? '↳ ' : ''}[TOOL] ${firstLine(body.tool)} → `
  const verdict = body.verdict === 'allow' ? `✓ (${approvedBy(body)})` : `✗ (${deniedBy(body.by)})`
  const painted = terminal.paint(body.verdict === 'allow' ? 'green' : 'red', verdict)
  const target = firstLine(body.target)
  const fullRoom = terminal.width - INDENT - widthOf(head)
  const roomBesideVerdict = fullRoom - widthOf(verdict) - 1
  const call = (room: number) =>
    terminal.paint('cyan', head) + linkFile(body.tool, cut(target, room), body.target, options)
  const reason = body.verdict === 'allow' ? [] : wrap(neutral(body.reason), terminal.width - INDENT - 2)
  return [
    ...(roomBesideVerdict < Math.min(widthOf(target), SHORTEST_TARGET)
      ? [call(fullRoom), `  ${painted}`]
      : [`${call(roomBesideVerdict)} ${painted}`]),
    ...reason.map(text => `  ${terminal.paint('red', text)}`),
  ]
}

/**
 * The output of a tool that failed, shortened. A tool that succeeded gets a line only if it took long, and its output only
 * with `verbose`.
 */
export function toolResult(body: EventBody<'tool.finished'>, options: LineOptions, tookMs: number): string[] {
  const { terminal, verbose, whole } = options
  // A question is shown by its answer; a call without a name was never shown.
  if (QUESTION_TOOLS.has(body.tool) || body.tool === '') return []
  const after = tookMs > LONG_MS ? ` after ${duration(tookMs)}` : ''
  if (!body.ok && wasStopped(body.output)) return [terminal.paint('dim', `${body.tool} was stopped${after}`)]
  const lines = stripWrapping(body.output).split('\n')
  const limit = whole ? lines.length : ERROR_LINES
  const shown = lines.slice(0, limit).map(line => `  ${cut(line, terminal.width - 13)}`)
  const more =
    lines.length > limit ? [`  … ${lines.length - limit} more ${lines.length - limit === 1 ? 'line' : 'lines'}`] : []
  if (!body.ok) {
    const heading = `${body.tool} ${isHookRefusal(body.output) ? 'was refused' : 'failed'}${after}:`
    return [heading, ...shown, ...more].map(line => terminal.paint('red', line))
  }
  const done = after
    ? [`${cut(`${body.tool} → ${firstLine(body.target)}`, terminal.width - INDENT - 20)} done${after}`]
    : []
  const output = verbose && body.output.trim() ? [`${body.tool} said:`, ...shown, ...more] : []
  return [...done, ...output].map(line => terminal.paint('dim', line))
}

/** Whether a hook refused the call before it ran: ours, whose refusal was shown when it was decided, or one of the project. */
export function isHookRefusal(output: string): boolean {
  return HOOK_REFUSAL.test(output)
}

const HOOK_REFUSAL = /^\s*(?:<tool_use_error>)?PreToolUse:\S+ hook error: ?/

/** Whether the output is what Claude Code tells the model about an interrupted call. */
function wasStopped(output: string): boolean {
  return /^(The user doesn't want to (proceed|take this action)|\[Request interrupted)/.test(output.trimStart())
}

/** Removes the vendor's wrapping, which is meant for the model. */
function stripWrapping(output: string): string {
  return neutralOutput(output)
    .replace(HOOK_REFUSAL, '')
    .replace(/<\/?tool_use_error>/g, '')
    .trim()
}

function linkFile(tool: string, shown: string, path: string, { terminal, project }: LineOptions): string {
  return tool === 'Read' || WRITING_TOOLS.has(tool) ? terminal.link(resolve(project, path), shown) : shown
}

function approvedBy({ by, reason }: EventBody<'permission.decided'>): string {
  // What the rules say of ordinary work needs no detail: the call stands beside it.
  if (by === 'brain')
    return `allowed: ${reason.startsWith(INSIDE) ? INSIDE : cutAtWord(firstLine(reason), LONGEST_OPINION)}`
  return isAutomatic(by) ? 'auto-approved' : `allowed by ${firstLine(by)}`
}

function deniedBy(by: string): string {
  if (by === 'policy') return 'denied'
  if (by === 'rule' || by === 'precedent') return `denied by ${by === 'rule' ? 'a rule' : 'an earlier answer'}`
  return by === 'nobody' ? 'denied: nobody to ask' : `denied by ${firstLine(by)}`
}

/** No bell for older calls: it would only startle a person who reads the log later. */
const BELL_MS = 30_000

/** The line that calls a person, with the terminal bell when somebody can hear it. */
export function calledLines({ time, body }: EventOf<'person.called'>, terminal: Terminal): string[] {
  const shouldRing = Number.isFinite(terminal.width) && Date.now() - time < BELL_MS
  const text = cut(`You are called: ${firstLine(neutral(body.text))}`, terminal.width - INDENT)
  return [`${terminal.paint('yellow', text)}${shouldRing ? '\x07' : ''}`]
}
