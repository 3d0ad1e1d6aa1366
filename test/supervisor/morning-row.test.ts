import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Request, Verdict } from '../../src/domain/session.ts'
import type { Decision } from '../../src/policy/verdict/decide.ts'
import { morningRow } from '../../src/supervisor/asks/morning-row.ts'
import { aRun } from './a-run.ts'

const REQUEST: Request = { callId: 'c-1', tool: 'Bash', input: { command: 'rm x' }, cwd: '/p' }
const HIGH = { risk: 'HIGH', confidence: 1 } as const
const REASONS = [{ code: 'file.delete', risk: 'HIGH', text: 'rm deletes' } as const]
const ASSESSMENT = { risk: 'HIGH' as const, reasons: REASONS, pieces: [], normalised: 'Bash rm x' }
const BY_POLICY: Verdict = { ...HIGH, verdict: 'deny', reason: 'rm deletes; leave it', by: 'policy' }
const BY_NOBODY: Verdict = { ...BY_POLICY, by: 'nobody' }
const ASKED: Decision = { ...BY_POLICY, verdict: 'ask' }

function rowFor(verdict: Verdict, decision: Decision, signal = new AbortController().signal) {
  return morningRow({ request: REQUEST, judgement: { assessment: ASSESSMENT, decision }, verdict, signal }, aRun())
}

test('what was refused because nobody was there is listed with what it is and why', () => {
  const expected = {
    kind: 'permission',
    session_id: 's-000001',
    project: '/p',
    task: 't',
    call_id: 'c-1',
    tool: 'Bash',
    target: 'rm x',
    input: { command: 'rm x' },
    risk: 'HIGH',
    reason: 'rm deletes',
    reasons: REASONS,
    normalised: 'Bash rm x',
    state: 'denied',
  }
  assert.deepEqual(rowFor(BY_POLICY, { ...BY_POLICY, morning: true }), expected)
  assert.deepEqual(rowFor(BY_NOBODY, ASKED), expected)
})

test('what a rule or a person refused, what was allowed and what was withdrawn is not listed', () => {
  const ruled: Decision = { ...BY_POLICY, by: 'rule', rule: 'deny Bash rm *' }
  assert.equal(rowFor({ ...BY_POLICY, by: 'rule' }, ruled), undefined)
  assert.equal(rowFor({ ...BY_POLICY, by: 'human' }, ASKED), undefined)
  assert.equal(rowFor({ ...BY_POLICY, verdict: 'allow', by: 'human' }, ASKED), undefined)
  assert.equal(rowFor(BY_NOBODY, ASKED, AbortSignal.abort()), undefined)
})
