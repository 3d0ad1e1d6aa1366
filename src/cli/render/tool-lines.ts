import { resolve } from 'node:path'
import { toolCallName } from '../../domain/agent-tools.ts'
import { isAutomatic } from '../../domain/escalation.ts'
import type { EventBody, EventOf } from '../../domain/event.ts'
import { duration } from './format.ts'
import { cut, firstLine, INDENT, type LineOptions, neutral, type Terminal, widthOf, wrap } from './text.ts'

/** A tool's error is cut here: the first lines say what broke, the rest is in the logs. */
const ERROR_LINES = 5
/** A tool that takes longer is told of when it is done: its first line stood there while it still ran. */
const LONG_MS = 2000
/** A target cut shorter than this says nothing; the verdict then stands on a line of its own. */
const SHORTEST = 16
/** What the brain says in its line: enough to see what it took the call for. */
const LONGEST_OPINION = 60
/** The agent's own list of steps: `[PLAN]` shows what came of it. */
const PLAN_TOOLS = new Set(['TodoWrite', 'TaskCreate', 'TaskUpdate', 'TaskList', 'TaskGet'])
const QUESTION_TOOLS: ReadonlySet<string> = new Set(['AskUserQuestion', toolCallName('ask_human')])
const FILE_TOOLS = new Set(['Read', 'Write', 'Edit', 'MultiEdit', 'NotebookEdit'])

/** `[TOOL] Write → src/x.ts ✓ (auto-approved)`, or why not. */
export function toolLine(body: EventBody<'permission.decided'>, options: LineOptions): string[] {
  const { terminal } = options
  if (PLAN_TOOLS.has(body.tool) && body.by === 'policy' && !options.verbose) return []
  const head = `${body.agent_id ? '↳ ' : ''}[TOOL] ${firstLine(body.tool)} → `
  const verdict = body.verdict === 'allow' ? `✓ (${approvedBy(body)})` : `✗ (${deniedBy(body.by)})`
  const painted = terminal.paint(body.verdict === 'allow' ? 'green' : 'red', verdict)
  const target = firstLine(body.target)
  const whole = terminal.width - INDENT - widthOf(head)
  const beside = whole - widthOf(verdict) - 1
  const what = (room: number) =>
    terminal.paint('cyan', head) + named(body.tool, cut(target, room), body.target, options)
  const why = body.verdict === 'allow' ? [] : wrap(neutral(body.reason), terminal.width - INDENT - 2)
  return [
    ...(beside < Math.min(widthOf(target), SHORTEST) ? [what(whole), `  ${painted}`] : [`${what(beside)} ${painted}`]),
    ...why.map(text => `  ${terminal.paint('red', text)}`),
  ]
}

/** What a tool that failed said, cut; one that worked says nothing unless asked to, only that it is done if it took long. */
export function toolResult(body: EventBody<'tool.finished'>, options: LineOptions, tookMs: number): string[] {
  const { terminal, verbose, whole } = options
  // A question is told by its answer; a call without a name was never told of.
  if (QUESTION_TOOLS.has(body.tool) || body.tool === '') return []
  const after = tookMs > LONG_MS ? ` after ${duration(tookMs)}` : ''
  if (!body.ok && wasStopped(body.output)) return [terminal.paint('dim', `${body.tool} was stopped${after}`)]
  const lines = plainWords(body.output).split('\n')
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
  const said = verbose && body.output.trim() ? [`${body.tool} said:`, ...shown, ...more] : []
  return [...done, ...said].map(line => terminal.paint('dim', line))
}

/** Whether a hook said no to the call before it ran: ours, whose refusal was told when it was decided, or one of the project's. */
export function isHookRefusal(output: string): boolean {
  return HOOK_REFUSAL.test(output)
}

const HOOK_REFUSAL = /^\s*(?:<tool_use_error>)?PreToolUse:\S+ hook error: ?/

/** What Claude Code tells the model about a call that was interrupted. */
function wasStopped(output: string): boolean {
  return /^(The user doesn't want to (proceed|take this action)|\[Request interrupted)/.test(output.trimStart())
}

/** Without the vendor's wrapping, which is meant for the model. */
function plainWords(output: string): string {
  return neutral(output)
    .replace(HOOK_REFUSAL, '')
    .replace(/<\/?tool_use_error>/g, '')
    .trim()
}

function named(tool: string, shown: string, path: string, { terminal, project }: LineOptions): string {
  return FILE_TOOLS.has(tool) ? terminal.link(resolve(project, path), shown) : shown
}

function approvedBy({ by, reason }: EventBody<'permission.decided'>): string {
  if (by === 'brain') return `approved by brain: ${cut(firstLine(reason), LONGEST_OPINION)}`
  return isAutomatic(by) ? 'auto-approved' : `allowed by ${firstLine(by)}`
}

function deniedBy(by: string): string {
  if (by === 'policy') return 'denied'
  if (by === 'rule' || by === 'precedent') return `denied by ${by === 'rule' ? 'a rule' : 'an earlier answer'}`
  return by === 'nobody' ? 'denied: nobody to ask' : `denied by ${firstLine(by)}`
}

/** A bell for what was called long ago would only startle who reads it later. */
const NEWS_MS = 30_000

/** That something needs a person, with the bell where somebody is there to hear it. */
export function calledLines({ time, body }: EventOf<'person.called'>, terminal: Terminal): string[] {
  const isHeard = Number.isFinite(terminal.width) && Date.now() - time < NEWS_MS
  const words = cut(`You are called: ${firstLine(neutral(body.text))}`, terminal.width - INDENT)
  return [`${terminal.paint('yellow', words)}${isHeard ? '\x07' : ''}`]
}
