import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Assessment } from '../../../src/domain/assessment.ts'
import type { Request } from '../../../src/domain/session.ts'
import type { Decision } from '../../../src/policy/verdict/decide.ts'
import { answerToPermission, isParkable, parkPermission } from '../../../src/supervisor/session/judge.ts'
import { callDigest, givenAnswer } from '../../../src/supervisor/session/tool-call.ts'
import { aLiveSession } from './live-session.ts'

const REQUEST: Request = { callId: 'c-1', tool: 'Bash', input: { command: 'rm x', description: 'Remove' }, cwd: '/p' }
const REASON = { code: 'file.delete', risk: 'HIGH', text: 'rm deletes' } as const
const ASSESSMENT: Assessment = { risk: 'HIGH', reasons: [REASON], pieces: [], normalised: 'Bash rm x' }
const DECISION: Decision = { verdict: 'ask', risk: 'HIGH', reason: 'rm deletes', confidence: 0, by: 'policy' }
const JUDGED = { assessment: ASSESSMENT, decision: DECISION }
const ASKED = { ...JUDGED, suggestion: undefined, askId: 'a-1' }

test('a parked call gets an escalation for a person, and the session keeps the call without its input', () => {
  const live = aLiveSession()
  const park = parkPermission({ request: REQUEST, ...ASKED }, live)
  assert.equal(park.reason, 'HIGH risk: rm deletes; it waits for a person')
  const waiting = live.agent.parking.get('c-1')
  assert.ok(waiting && 'digest' in waiting.parked)
  assert.deepEqual([waiting.parked.tool, waiting.parked.target, waiting.parked.risk], ['Bash', 'rm x', 'HIGH'])
  assert.equal('input' in waiting.parked, false)
  const { state, kind, task, input, normalised, reasons } = waiting.escalation
  assert.deepEqual([state, kind, task, input, normalised], ['open', 'permission', 't', REQUEST.input, 'Bash rm x'])
  assert.deepEqual(reasons, [REASON])
})

test('what the brain thinks of a parked call is shown to the person, in the session and in the list of decisions', () => {
  const live = aLiveSession()
  const suggestion = { by: 'ollama', answer: ['deny'], confidence: 0.5, reasoning: 'it cannot be undone' }
  parkPermission({ request: REQUEST, ...ASKED, suggestion }, live)
  const waiting = live.agent.parking.get('c-1')
  assert.deepEqual(waiting?.parked.suggestion, suggestion)
  assert.deepEqual(waiting?.escalation.context, { suggestion })
})

test('a call of a subagent, or one too long to be shown whole, cannot be parked', () => {
  assert.equal(isParkable(REQUEST), true)
  assert.equal(isParkable({ ...REQUEST, agentId: 'a-1' }), false)
  assert.equal(isParkable({ ...REQUEST, input: { command: 'rm x', description: 'y'.repeat(4_000) } }), false)
})

test('a yes is for that very call and input, whatever the order of its fields, and is used once', () => {
  const live = approved()
  assert.equal(answerToPermission({ ...REQUEST, callId: 'c-2' }, JUDGED, live), undefined, 'another call')
  const reordered = { ...REQUEST, input: { description: 'Remove', command: 'rm x' } }
  const { verdict, by, reason } = answerToPermission(reordered, JUDGED, live) ?? {}
  assert.deepEqual([verdict, by, reason], ['allow', 'ann', 'approved by a person'])
  assert.equal(answerToPermission(REQUEST, JUDGED, live), undefined)
})

test('a call that comes back with another input or as another tool is refused by nobody', () => {
  for (const request of [
    { ...REQUEST, input: { ...REQUEST.input, command: 'rm y' } },
    { ...REQUEST, input: { ...REQUEST.input, run_in_background: true } },
    { ...REQUEST, tool: 'Monitor' },
  ]) {
    const { verdict, by } = answerToPermission(request, JUDGED, approved()) ?? {}
    assert.deepEqual([verdict, by], ['deny', 'nobody'], JSON.stringify(request))
  }
})

test('a yes is for the files that the call runs, and counts no more when one of them is another', () => {
  const judged = (files?: Record<string, string>) => ({
    ...JUDGED,
    assessment: { ...ASSESSMENT, ...(files && { files }) },
  })
  const waiting = (files?: Record<string, string>) => {
    const parked = { ...PARKED, digest: callDigest('Bash', REQUEST.input), ...(files && { files }) }
    return aLiveSession({}, { answer: givenAnswer(parked, { by: 'ann', verdict: 'allow' }) })
  }
  const files = { '/p/x.sh': 'aa', '/p/Makefile': 'absent' }
  assert.equal(answerToPermission(REQUEST, judged(files), waiting(files))?.verdict, 'allow')
  for (const now of [{ ...files, '/p/x.sh': 'bb' }, { ...files, '/p/Makefile': 'cc' }, {}, undefined])
    assert.equal(answerToPermission(REQUEST, judged(now), waiting(files)), undefined, JSON.stringify(now))
  assert.equal(answerToPermission(REQUEST, judged(files), waiting()), undefined)
})

test('a yes does not override a rule, missing trust or a failure of the policy', () => {
  const ruled: Decision = { ...DECISION, verdict: 'deny', by: 'rule', rule: 'deny Bash rm *' }
  assert.equal(answerToPermission(REQUEST, { ...JUDGED, decision: ruled }, approved()), undefined)
  const guarded: Decision = { ...DECISION, verdict: 'deny', by: 'policy' }
  assert.equal(answerToPermission(REQUEST, { decision: guarded }, approved()), undefined)
  const unattended = { ...JUDGED, decision: guarded }
  assert.equal(
    answerToPermission(REQUEST, unattended, approved())?.verdict,
    'allow',
    'that nobody is attached is no objection',
  )
})

test('anything but a clear yes is a no', () => {
  const parked = { ...PARKED, digest: callDigest('Bash', REQUEST.input) }
  for (const said of [{ by: 'ann' }, { by: 'ann', answer: ['allow'] }, { by: 'ann', verdict: 'deny' as const }]) {
    const live = aLiveSession({}, { answer: givenAnswer(parked, said) })
    assert.equal(answerToPermission(REQUEST, JUDGED, live)?.verdict, 'deny')
  }
})

const PARKED = {
  ask_id: 'a-1',
  call_id: 'c-1',
  tool: 'Bash',
  target: 'rm x',
  risk: 'HIGH',
  reason: 'rm deletes',
} as const

/** A session that was started again with a yes to the call. */
function approved() {
  const parked = { ...PARKED, digest: callDigest('Bash', REQUEST.input) }
  return aLiveSession({}, { answer: givenAnswer(parked, { verdict: 'allow', by: 'ann' }) })
}
