import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../../../src/base/errors.ts'
import { silentLog } from '../../../src/base/log.ts'
import { openStore } from '../../../src/store/open.ts'
import type { LandingParts } from '../../../src/supervisor/landing/parts.ts'
import { drive } from '../../../src/supervisor/landing/steps/drive.ts'
import { openTasks } from '../../../src/tasks/open.ts'
import { tempDir } from '../../support/world.ts'

const NOW = 1_768_300_000_000

test('a step that is refused is not tried again at once and for ever, but after a minute', async t => {
  const store = await openStore({ file: join(tempDir(t), 'store.db') })
  t.after(() => store.close())
  const clock = { now: () => NOW }
  const tasks = openTasks({ store, clock })
  const session = 's-000001'
  await store.sessions.insert({ id: session, name: 'one', project: '/p', task: 't', agent: 'none' })
  const id = await store.transaction(async tx => {
    const task = await tasks.submit({ session_id: session, project: '/p', text: 'do it' }, tx)
    await tasks.claimNext(session, tx)
    await tasks.transition(task.id, { to: 'verifying' }, tx)
    return task.id
  })
  let looks = 0
  let isRefused = true
  const transition: typeof tasks.transition = async (...args) => {
    if (isRefused) throw new AppError('task_move_refused', { id, from: 'verifying', to: 'done', session })
    return tasks.transition(...args)
  }
  const passed = { status: 'passed', isProven: true, commit: null, tree: null } as const
  // Only what a task that works in the project itself comes to.
  const parts = {
    floor: { parts: { store, clock, tasks: { ...tasks, transition } }, log: silentLog },
    merges: {},
    settingsOf: async () => ({ rounds: 3, merge: { mode: 'off', strategy: 'rebase', review: false } }),
    finishRebase: async () => ({ kind: 'whole' }),
    verify: async () => {
      looks += 1
      return { ...passed, checks: [], findings: [], next_steps: [] }
    },
    wake: () => undefined,
  } as unknown as LandingParts
  const turn = async () => ({ [Symbol.dispose]: () => undefined })
  const { signal } = new AbortController()
  assert.deepEqual(await drive(id, { parts, signal, turn }), { over: true, lookAgainAt: NOW + 60_000 })
  assert.equal(looks, 1, 'and gates did not run twice for it')
  assert.equal((await store.tasks.get(id))?.state, 'verifying')
  isRefused = false
  assert.deepEqual(await drive(id, { parts, signal, turn }), { over: true })
  assert.equal((await store.tasks.get(id))?.state, 'done')
})
