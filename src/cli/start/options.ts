import { SESSION_HOSTS, type SessionHost } from '../../domain/agents/session-hosts.ts'
import { BRAIN_KINDS, type BrainKind } from '../../domain/brain/brain-kind.ts'
import type { BudgetLimits } from '../../domain/budget/budget.ts'
import { parseBudget } from '../../domain/budget/parse.ts'

/** What `pcc start` was called with. */
export interface StartOptions {
  task?: string
  requirements?: string
  agent?: string
  model?: string
  maxTurns?: number
  allowedTools?: string[]
  disallowedTools?: string[]
  autoApprove?: boolean
  autoResume?: boolean
  budget?: BudgetLimits
  priority?: number
  brain?: BrainKind
  brainModel?: string
  confidence?: number
  worktree?: boolean
  host?: SessionHost
  detach?: boolean
  sessionName?: string
  resume?: string
  fork?: boolean
  record?: string
}

/** The options from flags as they were typed; undefined where commander must explain what is wrong with one. */
export function startOptionsOf(flags: Record<string, string | true>): StartOptions | undefined {
  const text = (flag: string) => (typeof flags[flag] === 'string' ? flags[flag] : undefined)
  const maxTurns = optional(text('--max-turns'), positiveIn)
  const allowedTools = optional(text('--allowed-tools'), toolsIn)
  const disallowedTools = optional(text('--disallowed-tools'), toolsIn)
  const priority = optional(text('--priority'), wholeIn)
  const budget = optional(text('--budget'), budgetIn)
  const brain = optional(text('--brain'), kindIn)
  const confidence = optional(text('--confidence'), shareIn)
  const host = optional(text('--host'), hostIn)
  if (
    brain === 'wrong' ||
    host === 'wrong' ||
    confidence === 'wrong' ||
    budget === 'wrong' ||
    priority === 'wrong' ||
    maxTurns === 'wrong' ||
    allowedTools === 'wrong' ||
    disallowedTools === 'wrong'
  )
    return undefined
  // Both said: the last one counts, which commander knows.
  if (flags['--auto-approve'] && flags['--no-auto-approve']) return undefined
  if (flags['--auto-resume'] && flags['--no-auto-resume']) return undefined
  return withoutAbsent({
    task: text('--task'),
    requirements: text('--requirements'),
    agent: text('--agent'),
    model: text('--model'),
    maxTurns,
    allowedTools,
    disallowedTools,
    autoApprove: flags['--no-auto-approve'] ? false : flags['--auto-approve'],
    autoResume: flags['--no-auto-resume'] ? false : flags['--auto-resume'],
    budget,
    priority,
    brain,
    brainModel: text('--brain-model'),
    confidence,
    worktree: flags['--worktree'],
    host,
    detach: flags['--detach'],
    sessionName: text('--session-name'),
    resume: text('--resume'),
    fork: flags['--fork'],
    record: text('--record'),
  })
}

/** A whole number above 0; undefined when it is none. */
export function positiveIn(text: string): number | undefined {
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined
}

/** A whole number, as a priority is; undefined when it is none. */
export function wholeIn(text: string): number | undefined {
  return /^[+-]?\d{1,6}$/.test(text) ? Number(text) : undefined
}

function budgetIn(text: string): BudgetLimits | undefined {
  const read = parseBudget(text)
  return 'limits' in read ? read.limits : undefined
}

function kindIn(text: string): BrainKind | undefined {
  return BRAIN_KINDS.find(kind => kind === text)
}

function hostIn(text: string): SessionHost | undefined {
  return SESSION_HOSTS.find(host => host === text)
}

/** A number from 0 to 1; undefined when it is none. */
export function shareIn(text: string): number | undefined {
  return /^(0(\.\d+)?|1(\.0+)?|\.\d+)$/.test(text) ? Number(text) : undefined
}

/** Names by commas; rules may hold commas inside parentheses: `Bash(git log:*),Read`. Undefined when there is none, or one is left open. */
export function toolsIn(text: string): string[] | undefined {
  if (!hasClosedBrackets(text)) return undefined
  const found = (text.match(/(?:\([^)]*\)|[^,(])+/g) ?? []).map(name => name.trim()).filter(Boolean)
  return found.length === 0 ? undefined : found
}

/** `Bash(rm *` would count as a tool of that odd name, that is, not at all. */
export function hasClosedBrackets(text: string): boolean {
  let depth = 0
  for (const each of text) {
    if (each === '(') depth++
    if (each === ')') depth--
    if (depth < 0) return false
  }
  return depth === 0
}

function optional<T>(text: string | undefined, read: (text: string) => T | undefined): T | 'wrong' | undefined {
  return text === undefined ? undefined : (read(text) ?? 'wrong')
}

function withoutAbsent(options: Record<string, unknown>): StartOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
