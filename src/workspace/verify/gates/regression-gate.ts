import type { Finding } from '../../../domain/workspace/evidence.ts'
import type { BaseTests } from '../base/base-tests.ts'
import { compareTests } from '../base/compare.ts'
import { type Seen, seen, statusBy } from './seen.ts'

/**
 * Compares the tests with those of the base. Tests that failed there already do not count against the work: where nothing else
 * fails, the gate of the tests, which is given back too, has passed.
 */
export function regressionGate(tests: Seen, base: BaseTests | undefined): { tests: Seen; regression: Seen } {
  const skipped = (output: string) => ({ tests, regression: seen({ ...NAMED, status: 'skipped', output }) })
  if (tests.tests === null || base?.tests === null) {
    const failsToo = tests.status === 'failed' && base !== undefined && base.exit !== 0
    const note = failsToo ? ' It fails where the work began too.' : ''
    return skipped(`Whole command only: the runner does not tell of single tests.${note}`)
  }
  if (base === undefined) return skipped('Nobody knows how the tests stood where the work began.')
  const { findings, before, isExcused } = compareTests(base.tests, tests.tests)
  const regression = seen({
    ...NAMED,
    status: statusBy(findings),
    command: tests.command,
    duration_ms: base.durationMs,
    output: `${base.tests.length} tests where the work began, ${tests.tests.length} now.${base.cached ? ' Known from before.' : ''}`,
    findings,
    cached: base.cached,
  })
  if (!isExcused || tests.status !== 'failed' || base.exit === 0) return { tests, regression }
  return { tests: excused(tests, before), regression }
}

const NAMED = { gate: 'regression', kind: 'regression' } as const

function excused(tests: Seen, before: readonly string[]): Seen {
  const own = tests.findings.filter(({ code }) => code !== 'test.failed' && code !== 'test.failing')
  const notes = before.map(
    (name): Finding => ({ code: 'test.failed_before', weight: 'note', text: `Fails as it did before: ${name}` }),
  )
  const findings = [...own, ...notes]
  return { ...tests, status: statusBy(findings), findings }
}
