import { type Command, InvalidArgumentError } from 'commander'
import { AppError } from '../base/errors.ts'
import { sessionMarker } from '../base/process/marker.ts'
import { type BudgetLimits, parseBudget } from '../domain/budget.ts'
import { readStandardInput } from './input.ts'

/**
 * Refuses what only a person may decide where it is run inside a session. The policy refuses agents every such `pcc` they
 * spell out; this is for the one that a script of theirs runs without knowing.
 */
export function refuseInSession(env: Record<string, string | undefined>, command: string): void {
  if (env[sessionMarker('').name] !== undefined) throw new AppError('agent_answers', { command })
}

/** `--budget` as commander reads it: what is wrong with it is said in a sentence. */
export function budgetOption(text: string): BudgetLimits {
  const read = parseBudget(text)
  if ('problem' in read)
    throw new InvalidArgumentError(`${read.problem.charAt(0).toUpperCase()}${read.problem.slice(1)}.`)
  return read.limits
}

/** What `pcc task add` and `update` both take. */
export interface TaskFieldOptions {
  description?: string
  priority?: number
  type?: string
  label?: string[]
  accept?: string[]
  paths?: string[]
  maxRetries?: number
  budget?: BudgetLimits
}

/** Adds the options that say something of a task. */
export function addTaskFields(command: Command): Command {
  return command
    .option('-d, --description <text>', 'the whole of it; - reads it from standard input')
    .option('-p, --priority <n>', 'higher is taken sooner (default: 0)', wholeNumber)
    .option('--type <word>', 'kind of work (default: task)')
    .option('-l, --label <word>', 'a label; may be repeated', collect)
    .option('--accept <criterion>', 'what must hold when it is done; may be repeated', collect)
    .option('--paths <pattern>', 'what it will touch, as in src/api or docs/*.md; may be repeated', collect)
    .option('--max-retries <n>', 'tries again after a failure (default: 3)', count)
    .option('--budget <amounts>', 'the most it may spend: "5 usd, 2h"', budgetOption)
}

/** The fields as the API takes them. */
export async function readTaskFields(options: TaskFieldOptions, command: string): Promise<object> {
  const { description, priority, type, label, accept, paths, maxRetries, budget } = options
  const text = description === '-' ? await readStandardInput(command) : description
  return {
    ...(text !== undefined && { description: text }),
    ...(priority !== undefined && { priority }),
    ...(type !== undefined && { type }),
    ...(label && { labels: label }),
    ...(accept && { acceptance: accept }),
    ...(paths && { paths }),
    ...(maxRetries !== undefined && { max_retries: maxRetries }),
    ...(budget && { budget }),
  }
}

/** An option that may be given several times. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value]
}

function wholeNumber(text: string): number {
  if (!/^[+-]?\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, as in 10 or -1.')
  return Number(text)
}

function count(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 100)
    throw new InvalidArgumentError('It must be a number from 0 to 100.')
  return Number(text)
}
