import type { Finding, NewEvidence } from '../../domain/workspace/evidence.ts'

/** What goes back to an agent is read by a model: each piece is bounded. */
const MOST_STEPS = 30
const MOST_OUTPUT = 4_000

/** What is to be done, gate by gate, in words for the agent whose work it is. Empty where nothing stands in the way. */
export function nextSteps(checks: readonly NewEvidence[]): string[] {
  const all = [...new Set(checks.flatMap(stepsOf))]
  if (all.length <= MOST_STEPS) return all
  return [...all.slice(0, MOST_STEPS), `And ${all.length - MOST_STEPS} more of the same kind.`]
}

function stepsOf({ findings, status, command, output, kind }: NewEvidence): string[] {
  const steps = findings.filter(({ weight }) => weight === 'block').map(told)
  if (kind !== 'command' || status === 'passed' || output.trim() === '' || steps.length === 0) return steps
  const shown = output.length > MOST_OUTPUT ? `[…]\n${output.slice(-MOST_OUTPUT)}` : output
  const [first = '', ...rest] = steps
  return [`${first} Mend the cause and see \`${command}\` pass. It printed:\n${shown.trimEnd()}`, ...rest]
}

function told({ text, file, line }: Finding): string {
  if (file === undefined || text.includes(file)) return text
  return `${text} (${file}${line === undefined ? '' : `:${line}`})`
}
