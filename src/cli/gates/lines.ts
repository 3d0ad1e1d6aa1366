import type { Evidence, GateStatus } from '../../domain/workspace/evidence.ts'
import type { Terminal, Tone } from '../render/paint.ts'
import { neutral, pad } from '../render/text.ts'

type Shown = Pick<Evidence, 'gate' | 'status' | 'command' | 'exit' | 'duration_ms' | 'findings' | 'tests' | 'cached'>

const MARKS: Record<GateStatus, [mark: string, tone: Tone]> = {
  passed: ['✓', 'green'],
  failed: ['✗', 'red'],
  flaky: ['~', 'yellow'],
  skipped: ['–', 'dim'],
  broken: ['!', 'red'],
}

const MOST_FINDINGS = 10

/** One gate: how it ended, what it ran and what it found. */
export function checkLine(check: Shown, { paint }: Terminal): string[] {
  const [mark, tone] = MARKS[check.status]
  const facts = [
    check.status,
    ...(check.command === null ? [] : [neutral(check.command)]),
    ...(check.exit === null || check.exit === 0 ? [] : [`exit ${check.exit}`]),
    ...(check.command === null ? [] : [check.tests === null ? 'whole command only' : counted(check.tests)]),
    ...(check.cached
      ? ['known from before']
      : check.duration_ms > 0
        ? [`${(check.duration_ms / 1000).toFixed(1)} s`]
        : []),
  ]
  const shown = check.findings.slice(0, MOST_FINDINGS).map(({ text, weight, file, line }) => {
    const where = file === undefined || text.includes(file) ? '' : ` (${file}${line === undefined ? '' : `:${line}`})`
    return `      ${paint(weight === 'block' ? 'red' : 'dim', neutral(`${text}${where}`))}`
  })
  const rest = check.findings.length - shown.length
  const more = rest > 0 ? [`      and ${rest} more`] : []
  return [`  ${paint(tone, mark)} ${pad(check.gate, 12)} ${facts.join('  ')}`, ...shown, ...more]
}

function counted(tests: NonNullable<Shown['tests']>): string {
  const failed = tests.filter(({ status }) => status === 'failed').length
  return `${tests.length} test${tests.length === 1 ? '' : 's'}${failed > 0 ? `, ${failed} failed` : ''}`
}
