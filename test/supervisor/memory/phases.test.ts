import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { EVENT_PHASES, HOOK_PHASES, hookKinds, PHASES, RECORDED } from '../../../src/supervisor/memory/phases.ts'

test('hooks alone reach every phase, and the events of a task do, too', () => {
  for (const table of [HOOK_PHASES, EVENT_PHASES])
    assert.deepEqual(new Set(Object.values(table).flat()), new Set(PHASES))
  assert.deepEqual(hookKinds('organise'), ['session_start', 'stop', 'session_end'])
  assert.ok(RECORDED.includes('tool.finished') && !RECORDED.includes('session.ended'))
})

test('the table in docs/memory.md is the one in the code', () => {
  const page = readFileSync(new URL('../../../docs/memory.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| (hook|event) `([\w.]+)` \| ([\w, ]+) \|$/gm)].map(
    ([, from, kind, phases]) => [`${from} ${kind}`, phases?.split(', ')] as const,
  )
  const table = (from: string, all: object) =>
    Object.entries(all).map(([kind, phases]) => [`${from} ${kind}`, [...phases]])
  assert.deepEqual(rows, [...table('hook', HOOK_PHASES), ...table('event', EVENT_PHASES)])
})
