import { resolve } from 'node:path'
import { isAutomatic } from '../../domain/decided-by.ts'
import type { EventBody } from '../../domain/event.ts'
import { INDENT, type LineOptions } from './paint.ts'
import { cut, firstLine, neutral, widthOf, wrap } from './text.ts'

/** A tool's error is cut here: the first lines say what broke, the rest is in the logs. */
const ERROR_LINES = 5
/** A target cut shorter than this says nothing; the verdict then stands on a line of its own. */
const SHORTEST = 16
/** What the brain says in its line: enough to see what it took the call for. */
const LONGEST_OPINION = 60
/** The agent's own list of steps: `[PLAN]` shows what came of it. */
const PLAN_TOOLS = new Set(['TodoWrite', 'TaskCreate', 'TaskUpdate', 'TaskList', 'TaskGet'])
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

/** What a tool that failed said, cut; a tool that worked says nothing unless asked to. */
export function toolFailure(body: EventBody<'tool.finished'>, { terminal, verbose }: LineOptions): string[] {
  if (body.tool === 'AskUserQuestion' || (body.ok && !verbose)) return []
  const lines = neutral(body.output).trimEnd().split('\n')
  const tone = body.ok ? 'dim' : 'red'
  const heading = `${body.tool} ${body.ok ? 'said' : 'failed'}:`
  const shown = lines.slice(0, ERROR_LINES).map(line => `  ${cut(line, terminal.width - 13)}`)
  const more = lines.length > ERROR_LINES ? [`  … ${lines.length - ERROR_LINES} more lines`] : []
  return [heading, ...shown, ...more].map(line => terminal.paint(tone, line))
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
