import type { Finding } from '../../../domain/workspace/evidence.ts'
import type { BaseTests } from '../base/base-tests.ts'
import { compareTests } from '../base/compare.ts'
import { type Seen, seen, statusBy } from './seen.ts'

/**
 * Compares the tests with those of the base. A test that failed there already is told as such in the gate of the tests, which is
 * given back too. It stands in the way all the same, since the work may have been to mend it, unless a person lets it pass.
 */
export function regressionGate(
  tests: Seen,
  base: BaseTests | undefined,
  known: 'block' | 'allow',
): { tests: Seen; regression: Seen } {
  const skipped = (output: string) => ({ tests, regression: seen({ ...NAMED, status: 'skipped', output }) })
  if (tests.tests === null || base?.tests === null) {
    const failsToo = tests.status === 'failed' && base !== undefined && base.exit !== 0
    const note = failsToo ? ' It fails where the work began too.' : ''
    return skipped(`Whole command only: the runner does not tell of single tests.${note}`)
  }
  if (base === undefined) return skipped('Not compared: nobody knows how the tests stood where the work began.')
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
  if (tests.status !== 'failed' || base.exit === 0) return { tests, regression }
  const mayPass = isExcused && known === 'allow'
  return { tests: mayPass ? excused(tests, before) : asBefore(tests, before), regression }
}

const NAMED = { gate: 'regression', kind: 'regression' } as const

/** Who mends it should know that it is no new failure. */
function asBefore(tests: Seen, before: readonly string[]): Seen {
  const failing = new Set(before.map(name => `This test fails: ${name}`))
  const findings = tests.findings.map(finding =>
    failing.has(finding.text)
      ? { ...finding, text: `${finding.text} (it failed before the work began, too)` }
      : finding,
  )
  return { ...tests, findings }
}

function excused(tests: Seen, before: readonly string[]): Seen {
  const own = tests.findings.filter(({ code }) => code !== 'test.failed' && code !== 'test.failing')
  const notes = before.map(
    (name): Finding => ({ code: 'test.failed_before', weight: 'note', text: `Fails as it did before: ${name}` }),
  )
  const findings = [...own, ...notes]
  return { ...tests, status: statusBy(findings), findings }
}
