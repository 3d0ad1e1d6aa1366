import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventOf } from '../../../src/domain/event.ts'
import { listRefused, summarizeDecisions } from '../../../src/supervisor/report/counts.ts'

function decided(call_id: string, more: Partial<EventOf<'permission.decided'>['body']>): EventOf<'permission.decided'> {
  const body = {
    ...({
      call_id,
      tool: 'Bash',
      target: 'rm -rf old',
      verdict: 'deny',
      risk: 'HIGH',
      confidence: 1,
      by: 'policy',
    } as const),
    ...{ reason: '', latency_ms: 1, ...more },
  }
  return { ...{ id: 1, time: 1, actor: 'daemon', subject: 's-1', schema_version: 1 }, kind: 'permission.decided', body }
}

test('the report gives a person the reason of a verdict, without advice to the agent and without paths of worktrees', () => {
  const reasons = [{ code: 'file.delete', risk: 'HIGH', text: 'rm deletes files' }] as const
  const refused = decided('a', { reason: 'rm deletes files; leave the file where it is', reasons: [...reasons] })
  const allowed = decided('b', {
    ...{ verdict: 'allow', by: 'brain', target: 'a.js', reason: 'inside the project: /home/x/worktrees/t-1/a.js is …' },
  })
  const own = decided('c', { by: 'rule', reason: 'you said so; twice' })
  assert.deepEqual(
    listRefused([refused], []).map(({ why }) => why),
    ['rm deletes files'],
  )
  assert.deepEqual(
    summarizeDecisions([allowed, own])
      .shown.map(({ why }) => why)
      .sort(),
    ['inside the project', 'you said so; twice'],
  )
})
