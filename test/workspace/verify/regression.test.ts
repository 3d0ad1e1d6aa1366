import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { concernsAbout, findFailedBefore, GateStatus, type TestResult } from '../../../src/domain/evidence.ts'
import { git } from '../../../src/workspace/git/git.ts'
import {
  compareTests,
  openBaseCheckout,
  regressionGate,
  removeBaseCheckouts,
} from '../../../src/workspace/verify/regression.ts'
import { gateCheck } from '../../../src/workspace/verify/request.ts'
import { NAME_SEPARATOR } from '../../../src/workspace/verify/test-results.ts'
import { resultOf } from '../../../src/workspace/verify/verify.ts'
import { gitProject, tempDir } from '../../support/world.ts'

type Status = TestResult['status']

const results = (statuses: Record<string, Status>): TestResult[] =>
  Object.entries(statuses).map(([name, status]) => ({ name, status }))

/** The findings about a test with these results before and after, where known failures are allowed. */
function judged(was: Status, is: Status) {
  const now = results({ it: is })
  const findings =
    is === 'failed' ? [{ code: 'test.failed', weight: 'block' as const, text: 'This test fails: it' }] : []
  const tests = gateCheck({ gate: 'test', kind: 'command', status: is, exit: 1, findings, tests: now })
  const base = { exit: 1, tests: results({ it: was }), cached: false, durationMs: 1 }
  const both = regressionGate(tests, base, 'allow')
  return [both.tests.status, both.regression.status]
}

test('a test that was flaky where the work began passed there: where it fails now the work broke it', () => {
  const { findings, before, isExcused } = compareTests(results({ it: 'flaky' }), results({ it: 'failed' }))
  const text = 'This test passed before the work and fails now: it'
  assert.deepEqual(findings, [{ code: 'regression.broken', weight: 'block', text }])
  assert.deepEqual([before, isExcused], [[], false])
  assert.deepEqual(judged('flaky', 'failed'), ['failed', 'failed'], 'known failures pass, and this is none')
  assert.deepEqual(judged('failed', 'failed'), ['passed', 'passed'])
})

const codesOf = (base: Record<string, Status>, now: Record<string, Status>) =>
  compareTests(results(base), results(now)).findings.map(({ code, weight }) => `${code} ${weight}`)

test('a test within a file that passed as a whole counts as one that passed, unless it failed by its own name', () => {
  const it = `a.test.js${NAME_SEPARATOR}it`
  const now = { 'a.test.js': 'failed', [it]: 'failed' } as const
  assert.deepEqual(codesOf({ 'a.test.js': 'passed' }, now), ['regression.broken block'])
  assert.deepEqual(codesOf({ 'a.test.js': 'passed', [it]: 'failed' }, now), [])
})

test('a test is gone unless a whole that it is in stands for it, and a skipped one does not take its place', () => {
  const it = `a.test.js${NAME_SEPARATOR}it`
  assert.deepEqual(codesOf({ [it]: 'passed' }, { 'a.test.js': 'passed' }), [])
  assert.deepEqual(codesOf({ it: 'passed' }, { other: 'passed' }), ['regression.gone note'])
  assert.deepEqual(codesOf({ it: 'passed' }, { other: 'skipped' }), ['regression.gone block'])
  assert.deepEqual(codesOf({ it: 'flaky' }, {}), ['regression.gone block'])
  assert.deepEqual(codesOf({ it: 'flaky' }, { it: 'skipped' }), ['regression.skipped block'])
})

test('that a command lists no test any more is the same concern however many there were, so it is accepted once', () => {
  const tests = gateCheck({ gate: 'test', kind: 'command', status: 'passed', exit: 0, tests: null })
  const gone = (names: Record<string, Status>) =>
    regressionGate(tests, { exit: 0, tests: results(names), cached: false, durationMs: 1 }, 'block').regression
  const [one, two] = [gone({ a: 'passed' }), gone({ a: 'passed', b: 'passed' })]
  assert.deepEqual(concernsAbout({ isProven: true, ...one }), concernsAbout({ isProven: true, ...two }))
  assert.deepEqual([one.status, one.findings.length], ['review', 1])
  assert.equal(two.output, '2 tests before the work, none now.')
})

test('a command without a list of tests that failed before, too, is said so; one that was killed or lists some now is not', () => {
  const failed = { code: 'test.failed', weight: 'block' as const, text: 'It failed.' }
  const isFromBefore = (more: object, tests: TestResult[] | null = null, exit = 1) => {
    const check = gateCheck({
      gate: 'test',
      kind: 'command',
      status: 'failed',
      findings: [failed],
      tests: null,
      ...more,
    })
    const both = regressionGate(check, { exit, tests, cached: false, durationMs: 1 }, 'allow')
    assert.equal(both.tests.status, 'failed', 'no setting lets a whole command pass')
    return findFailedBefore([both.tests]) !== undefined
  }
  assert.equal(isFromBefore({}), true)
  assert.equal(isFromBefore({}, null, 0), false)
  assert.equal(isFromBefore({}, results({ it: 'failed' })), false, 'it lists nothing any more')
  assert.equal(isFromBefore({ tests: results({ it: 'failed' }) }), false)
  assert.equal(isFromBefore({ findings: [{ ...failed, code: 'test.killed' }] }), false)
})

test('a base checkout that a dead daemon left is cleared away, and its repository knows of no worktree any more', async t => {
  const top = gitProject(t)
  const runDir = tempDir(t)
  const head = (await git(top, ['rev-parse', 'HEAD'])).stdout.trim()
  const base = await openBaseCheckout({ top, directory: top, base: head }, runDir, t.signal)
  assert.ok(base && existsSync(join(base.directory, 'README.md')))
  const worktrees = async () =>
    (await git(top, ['worktree', 'list', '--porcelain'])).stdout.match(/^worktree /gm)?.length
  assert.equal(await worktrees(), 2)
  await removeBaseCheckouts(runDir)
  assert.equal(existsSync(base.directory), false)
  assert.equal(await worktrees(), 1)
  await removeBaseCheckouts(runDir)
})

test('work passes only by what counts as passed, and each status of a gate says how it counts', () => {
  const outcomeOf = (status: GateStatus) => {
    const check = gateCheck({ gate: 'test', kind: 'command', status })
    const row = { ...check, task_id: 't-1', attempt: 1, round: 1, tree: null, created_at: 0 }
    const { status: outcome, isProven } = resultOf([row], { commit: null, tree: null })
    return `${outcome}${isProven ? ', proven' : ''}`
  }
  assert.deepEqual(Object.fromEntries(GateStatus.options.map(status => [status, outcomeOf(status)])), {
    passed: 'passed, proven',
    failed: 'failed',
    flaky: 'passed, proven',
    skipped: 'passed',
    broken: 'broken',
    review: 'passed',
  })
})
