import type { Command } from 'commander'
import { AppError } from '../base/errors.ts'
import { sessionMarker } from '../base/process/marker.ts'
import { parsePriority, parseShare } from '../base/words.ts'
import { type BudgetLimits, parseBudget } from '../domain/budget.ts'
import { readStandardInput } from './input.ts'

/**
 * Refuses a command that only a person may run when it runs inside a session. The policy already refuses every such `pcc`
 * command that an agent spells out; this catches one that a script of the agent runs.
 */
export function refuseInSession(env: Record<string, string | undefined>, command: string): void {
  if (env[sessionMarker('').name] !== undefined) throw new AppError('agent_answers', { command })
}

/** Commander knows a wrong value by the code. Its own class would bring commander into every command that needs a check of this file. */
export class InvalidValue extends Error {
  readonly code = 'commander.invalidArgument'
  readonly exitCode = 1
}

/** Parses `--budget` for commander; a problem is reported as a sentence. */
export function budgetOption(text: string): BudgetLimits {
  const parsed = parseBudget(text)
  if ('problem' in parsed)
    throw new InvalidValue(`${parsed.problem.charAt(0).toUpperCase()}${parsed.problem.slice(1)}.`)
  return parsed.limits
}

/** The options that `pcc task add` and `pcc task update` share. */
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

/** Adds the options that set the fields of a task; `isNew`: those that are not given have a default. */
export function addTaskFields(command: Command, { isNew }: { isNew: boolean }): Command {
  const standard = (value: string) => (isNew ? ` (default: ${value})` : '')
  return command
    .option('-d, --description <text>', 'the full description; - reads it from standard input')
    .option('-p, --priority <n>', `higher is taken sooner${standard('0')}`, priorityOption)
    .option('--type <word>', `kind of work${standard('task')}`)
    .option('-l, --label <word>', 'a label; may be repeated', collect)
    .option('--accept <criterion>', 'what must hold when it is done; may be repeated', collect)
    .option('--paths <pattern>', 'what it will touch, as in src/api or docs/*.md; may be repeated', collect)
    .option('--max-retries <n>', `retries after a failure${standard('execution.max_retries')}`, retriesOption)
    .option('--budget <amounts>', 'the most it may spend: "5 usd, 2h"', budgetOption)
}

/** Converts the options to the fields of the API. */
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

/** Collects the values of an option that may be repeated. */
export function collect(value: string, previous: string[] = []): string[] {
  return [...previous, value]
}

/** Makes a parser for commander, which tells the person the problem with a value that `parse` does not know. */
export function optionParser<T>(parse: (text: string) => T | undefined, problem: string): (text: string) => T {
  return text => {
    const value = parse(text)
    if (value === undefined) throw new InvalidValue(problem)
    return value
  }
}

export const countOption = optionParser(
  text => (/^\d{1,9}$/.test(text) ? Number(text) : undefined),
  'It must be a whole number, 0 or more.',
)

export const priorityOption = optionParser(
  parsePriority,
  'It must be a whole number from -999999 to 999999, as in 10 or -1.',
)

export const retriesOption = optionParser(
  text => (/^\d{1,3}$/.test(text) && Number(text) <= 100 ? Number(text) : undefined),
  'It must be a number from 0 to 100.',
)

export const shareOption = optionParser(parseShare, 'It must be a number from 0 to 1, as in 0.8.')
