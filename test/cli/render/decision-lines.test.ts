import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decisionLines } from '../../../src/cli/render/event-lines.ts'
import { decided, event, plain } from './sample.ts'

const draw = decisionLines({ terminal: plain(80), project: '/p', verbose: false })

test('a decision is shown with its risk, who decided, how sure and how fast, and why', () => {
  const body = { by: 'brain', risk: 'MEDIUM' as const, confidence: 0.85, latency_ms: 0.42, reason: 'routine work' }
  assert.deepEqual(draw(decided({ ...body, tool: 'Bash', target: 'git commit -m x' })), [
    '[12:00:08] ✓ allowed MEDIUM Bash → git commit -m x',
    '             by brain (85% sure, 0.4 ms)',
    '             routine work',
  ])
})

test('a refusal by a rule names the rule, and further reasons follow, without the LOW ones', () => {
  const reasons = [
    { code: 'file.delete', risk: 'HIGH' as const, text: 'rm deletes files' },
    { code: 'read', risk: 'LOW' as const, text: 'reads x' },
  ]
  const body = { by: 'rule', risk: 'HIGH' as const, verdict: 'deny' as const, reason: 'a rule forbids it', reasons }
  assert.deepEqual(
    draw(decided({ ...body, tool: 'Bash', target: 'rm x', rule: 'deny Bash rm *', latency_ms: 61_500 })),
    [
      '[12:00:08] ✗ denied  HIGH   Bash → rm x',
      '             by rule (100% sure, 61.5 s)',
      '             rule: deny Bash rm *',
      '             a rule forbids it',
      '             file.delete: rm deletes files',
    ],
  )
})

test('a target with control characters cannot draw on the terminal, and an answer looks like in the history', () => {
  assert.ok(draw(decided({ target: 'a\u001b[2Jb', rule: 'x\u001b]0;y\u0007' })).every(line => !line.includes('\u001b')))
  const [line] = draw(event('question.answered', { call_id: 'c', answers: { q: 'blue' }, by: 'human' }))
  assert.match(line ?? '', /Answer \(human\): blue/)
})
