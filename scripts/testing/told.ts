import { styleText } from 'node:util'
import type { GroupOutcome } from './run-group.ts'

/** Green only if every test ran to its end, none failed and no process was left running. */
export function isGreen({ verdict, exit, left }: GroupOutcome): boolean {
  return verdict?.success === true && exit === 'exit 0' && left.length === 0
}

/** One line for a group that passed, and the full output of one that failed. */
export function tell(outcome: GroupOutcome): string {
  return [testsOf(outcome), ...outcome.left.map(one => leftBehind(outcome, one))].join('')
}

/** The last lines of a run. */
export function tellTotals(outcomes: GroupOutcome[], durationMs: number): string {
  const sum = (pick: 'tests' | 'passed' | 'skipped' | 'todo') =>
    outcomes.reduce((total, { verdict }) => total + (verdict?.[pick] ?? 0), 0)
  const died = outcomes.filter(({ verdict }) => !verdict).length
  const [tests, passed, skipped] = [sum('tests') + died, sum('passed'), sum('skipped')]
  const failed = tests - passed - skipped - sum('todo')
  const left = outcomes.reduce((total, one) => total + one.left.length, 0)
  const words = [`${passed} of ${tests} tests passed`, `in ${seconds(durationMs)}`]
  if (failed > 0) words.push(`(${failed} failed)`)
  if (skipped > 0) words.push(`(${skipped} skipped)`)
  const unsteady = outcomes.filter(({ isUnsteady }) => isUnsteady).length
  if (unsteady > 0) words.push(`(${unsteady} unsteady)`)
  const behind = `${left} ${left === 1 ? 'process' : 'processes'} left behind`
  const colour = outcomes.every(isGreen) ? 'green' : 'red'
  return `${styleText(colour, words.join(' '))}\n${styleText(left > 0 ? 'red' : 'green', behind)}\n`
}

/** A test that passes only when it runs alone is a defect to be fixed. */
export function tellUnsteady(name: string): string {
  return styleText('yellow', `! ${name} is unsteady: it failed beside others (see above) and passed alone\n`)
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

function testsOf({ group, verdict, exit, printed, durationMs }: GroupOutcome): string {
  if (!verdict) return `${styleText('red', `✖ ${group.name} ended before its tests were over (${exit})`)}\n${printed}\n`
  if (!verdict.success) return `${verdict.told}\n${printed}${styleText('red', `✖ ${group.name}`)}\n\n`
  if (exit !== 'exit 0') return `${styleText('red', `✖ ${group.name} passed, and then failed (${exit})`)}\n${printed}\n`
  const skipped = verdict.skipped > 0 ? styleText('yellow', `, ${verdict.skipped} skipped`) : ''
  const cost = styleText('dim', `${verdict.tests} in ${seconds(durationMs)}${skipped}`)
  return `${styleText('green', '✓')} ${group.name} ${cost}\n`
}

function leftBehind({ group }: GroupOutcome, { pid, command }: GroupOutcome['left'][number]): string {
  return styleText('red', `✖ ${group.name} left running, now ended: ${pid} ${command.slice(0, 200)}\n`)
}
