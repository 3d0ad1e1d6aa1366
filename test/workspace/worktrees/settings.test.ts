import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePlace } from '../../../src/workspace/worktrees/make-place.ts'
import { placeWorld } from './place-world.ts'

test('worktrees.mode: "off" lets a task work in the project itself', async t => {
  const { project, parts } = await placeWorld(t, { settings: { mode: 'off' } })
  const place = await makePlace({ project, task: 't-000001', attempt: 1 }, parts)
  assert.deepEqual(place, { kind: 'in_place', why: 'worktrees.mode is off' })
})
