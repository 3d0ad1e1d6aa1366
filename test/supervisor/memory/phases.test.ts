import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EVENT_PHASES, HOOK_PHASES, hookKinds, PHASES, RECORDED } from '../../../src/supervisor/memory/phases.ts'

test('hooks alone reach every phase, and the events of a task do, too', () => {
  for (const table of [HOOK_PHASES, EVENT_PHASES])
    assert.deepEqual(new Set(Object.values(table).flat()), new Set(PHASES))
  assert.deepEqual(hookKinds('organise'), ['session_start', 'stop', 'session_end'])
  assert.ok(RECORDED.includes('tool.finished') && !RECORDED.includes('session.ended'))
})
