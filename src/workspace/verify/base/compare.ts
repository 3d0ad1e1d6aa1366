import type { Finding, TestResult } from '../../../domain/workspace/evidence.ts'
import { failedAlone } from '../tests/retry-alone.ts'
import { BELOW } from '../tests/test-parser.ts'

/** How the tests of some work stand against those of its base. */
export interface Comparison {
  findings: Finding[]
  /** Tests that fail, and failed before. */
  before: string[]
  /** Nothing fails that did not fail before. */
  isExcused: boolean
}

const MOST_TOLD = 20

/** What passed must pass, what is gone is told, and what failed already does not count against the work. */
export function compareTests(base: readonly TestResult[], now: readonly TestResult[]): Comparison {
  const was = new Map(base.map(({ name, status }) => [name, status]))
  const is = new Map(now.map(({ name, status }) => [name, status]))
  const parents = new Set(now.flatMap(({ name }) => above(name)))
  const passedBefore = base.filter(({ status }) => status === 'passed' || status === 'flaky').map(({ name }) => name)
  const failing = failedAlone(now)
  const before = failing.filter(name => was.get(name) === 'failed')
  const passed = new Set(passedBefore)
  const broken = failing.filter(
    name => was.get(name) !== 'failed' && [name, ...above(name)].some(each => passed.has(each)),
  )
  const skipped = passedBefore.filter(name => is.get(name) === 'skipped')
  const gone = passedBefore.filter(name => !is.has(name) && !isInsideOne(name, is, parents))
  const fresh = now.filter(({ name, status }) => status !== 'skipped' && !was.has(name))
  return {
    findings: [
      ...told('regression.broken', broken, name => `This test passed before the work and fails now: ${name}`),
      ...told('regression.skipped', skipped, name => `This test passed before the work and is skipped now: ${name}`),
      ...goneFindings(gone, fresh.length),
    ],
    before,
    isExcused: failing.length > 0 && failing.length === before.length,
  }
}

/** One that got another name comes with a new one: only where fewer came than went does it stand in the way. */
function goneFindings(gone: readonly string[], fresh: number): Finding[] {
  const weight = gone.length > fresh ? 'block' : 'note'
  return told(
    'regression.gone',
    gone,
    name => `This test passed before the work and is not there any more: ${name}`,
    weight,
  )
}

function told(
  code: string,
  names: readonly string[],
  text: (name: string) => string,
  weight: Finding['weight'] = 'block',
): Finding[] {
  const rest = names.length - MOST_TOLD
  return [
    ...names.slice(0, MOST_TOLD).map(name => ({ code, weight, text: text(name) })),
    ...(rest > 0 ? [{ code, weight, text: `And ${rest} more.` }] : []),
  ]
}

/** Whether something above it is told in one word: nothing below that is listed. */
function isInsideOne(
  name: string,
  is: ReadonlyMap<string, TestResult['status']>,
  parents: ReadonlySet<string>,
): boolean {
  return above(name).some(each => is.has(each) && !parents.has(each))
}

/** The file and the groups that a test is in. */
function above(name: string): string[] {
  const parts = name.split(BELOW)
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join(BELOW))
}
