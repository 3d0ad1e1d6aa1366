import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import { openStore } from '../../../src/store/open.ts'
import type { SessionRow } from '../../../src/store/tables.ts'
import { closeAttempt } from '../../../src/supervisor/runs/close-attempt.ts'
import { keepAttempt, keepRun } from '../../store/an-attempt.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession } from '../session/live-session.ts'
import { sessionDepsOn } from '../session/session-deps.ts'

const FAILED: Partial<SessionRow> = {
  ...{ state: 'ended', ended_as: 'error', ended_at: 100, status_reason: 'it failed', owner: null },
}

/** An attempt whose session has failed, and a caller that closes it on the basis of that row. */
async function failed(
  t: TestContext,
  { maxRetries = 2, ...ended }: Partial<SessionRow> & { maxRetries?: number } = {},
) {
  const dir = tempDir(t)
  const store = await openStore({ file: join(dir, 'db') })
  t.after(() => store.close())
  const deps = sessionDepsOn(store)
  const task = await store.transaction(tx => deps.tasks.submit({ session_id: null, project: dir, text: 'do it' }, tx))
  await keepRun(store, 'r-1', dir)
  await keepAttempt(store, { task: task.id, outcome: null })
  const [attempt] = await store.runs.attempts({ run: 'r-1' })
  const run = await store.runs.get('r-1')
  assert.ok(attempt && run)
  const id = attempt.session_id
  await store.sessions.insert({ ...aLiveSession().row, id, project: dir })
  await store.sessions.update(id, { ...FAILED, ...ended })
  // The end of the session has counted the failure.
  await store.transaction(tx => tx.db.updateTable('tasks').set({ retries: 1 }).where('id', '=', task.id).execute())
  const session = await store.sessions.get(id)
  assert.ok(session)
  const settings = { maxRetries, retryMs: [] }
  const closing = { ...deps, log: silentLog, notesLock: join(dir, 'notes.lock'), settings }
  return {
    change: (patch: Partial<SessionRow>) => store.sessions.update(id, patch),
    task: () => store.tasks.get(task.id),
    async close(): Promise<unknown> {
      await closeAttempt(run, { attempt, session }, closing)
      const [{ outcome, reason } = { outcome: undefined, reason: undefined }] = await store.runs.attempts({
        run: 'r-1',
      })
      return [outcome, reason]
    },
  }
}

test('an attempt is closed as its session ended, unless that goes on or ended anew since it was looked at', async t => {
  const { change, close } = await failed(t)
  await change({ state: 'starting', ended_as: null, ended_at: null })
  assert.deepEqual(await close(), [null, null], 'it goes on')
  await change({ ...FAILED, resumes_at: 300 })
  assert.deepEqual(await close(), [null, null], 'it will go on by itself')
  await change({ ...FAILED, resumes_at: null, ended_as: 'completed', ended_at: 200, status_reason: null })
  assert.deepEqual(await close(), [null, null], 'it has ended otherwise, and is looked at again for that')
  await change(FAILED)
  assert.deepEqual(await close(), ['failed', 'it failed'])
})

test('a task whose retries are used up fails with the reason of its last attempt in the first line, or without one', async t => {
  for (const [status_reason, line] of [
    ['it broke\nat line 3', /^.*: it broke\n/],
    [null, /^[^:]*\n/],
  ] as const) {
    const { close, task } = await failed(t, { status_reason, maxRetries: 0 })
    assert.deepEqual(await close(), ['failed', status_reason])
    const { state, reason } = (await task()) ?? {}
    assert.equal(state, 'failed')
    assert.match(reason ?? '', line)
  }
})
