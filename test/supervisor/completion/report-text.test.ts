import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Finding, NewEvidence } from '../../../src/domain/evidence.ts'
import { failureLine, failureReport } from '../../../src/supervisor/completion/report-text.ts'

function check(gate: string, more: Partial<NewEvidence>): NewEvidence {
  return {
    ...{ task_id: 't-1', attempt: 1, round: 1, gate, kind: 'diff', status: 'failed', tree: null, command: null },
    ...{ exit: null, duration_ms: 1, output: '', findings: [], tests: null, cached: false, created_at: 1 },
    ...more,
  }
}

test('the line about work that a look at its diff refused names what was found; a command is named by itself', () => {
  const skipped: Finding = {
    code: 'test.skipped',
    weight: 'block',
    text: 'A test that ran is skipped.',
    file: 'a.test.js',
  }
  const note: Finding = { code: 'test.retries', weight: 'note', text: 'Tests are tried again.' }
  const diff = check('diff', { findings: [note, skipped, { ...skipped, file: 'b.test.js' }] })
  const tests = check('test', { kind: 'command', command: 'npm test', exit: 1, findings: [skipped] })
  assert.equal(
    failureLine({ checks: [diff], findings: [] }),
    'diff failed (test.skipped in a.test.js: A test that ran is skipped.; 1 more)',
  )
  assert.equal(failureLine({ checks: [tests], findings: [] }), 'test (npm test) failed')
  assert.match(failureLine({ checks: [diff, tests], findings: [] }), /^diff, test \(npm test\) failed \(test\.skipped/)
})

test('the line about a command names its first failing test, or says that it failed before the work', () => {
  const tests = [
    { name: 'sum', status: 'failed' },
    { name: 'sum > adds', status: 'failed' },
    { name: 'mul', status: 'failed' },
  ] as const
  const failed = check('test', { kind: 'command', command: 'npm test', exit: 1, tests: [...tests] })
  assert.equal(failureLine({ checks: [failed], findings: [] }), 'test (npm test): sum > adds and 1 more failed')
  const text = 'Only tests fail that failed before the work, too: sum > adds'
  const before = { ...failed, findings: [{ code: 'test.failed_before', weight: 'review' as const, text }] }
  const line = 'test (npm test) failed: only tests fail that failed before the work, too: sum > adds'
  assert.equal(failureLine({ checks: [before], findings: [] }), line)
  const told = failureReport({ checks: [before], findings: [], next_steps: [] }, { number: 1, of: 3 })
  assert.match(told, /did not fail before you began.*change nothing more.*a person decides/s)
})
