import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { NO_COMPLETION_PROGRESS } from '../../../src/domain/evidence.ts'
import { openEscalations } from '../../../src/human/escalations.ts'
import { openStore } from '../../../src/store/open.ts'
import type { RunRow } from '../../../src/store/tables.ts'
import { refuseWork } from '../../../src/supervisor/completion/moves.ts'
import type { SupervisorContext } from '../../../src/supervisor/context.ts'
import { AN_ESCALATION } from '../../support/an-escalation.ts'
import { tempDir } from '../../support/world.ts'
import { sessionDepsOn } from '../session/session-deps.ts'

test('work that fails its gates is tried anew, but waits if the same request was refused in two attempts', async t => {
  const store = await openStore({ file: join(tempDir(t), 'store.db') })
  t.after(() => store.close())
  const deps = sessionDepsOn(store)
  const { tasks, clock } = deps
  const escalations = openEscalations({ store, clock })
  const { id } = await store.transaction(tx => tasks.submit({ session_id: null, project: '/p', text: 'tidy up' }, tx))
  const run = { id: 'r-1' } as RunRow
  const attempt = async (session: string) => {
    await store.sessions.insert({ id: session, name: session, project: '/p', task: 't', agent: 'claude', task_id: id })
    await store.transaction(tx => tasks.claimReady({ scope: { project: '/p' }, run: 'r-1', session, only: id }, tx))
    await escalations.record({ ...AN_ESCALATION, session_id: session, task_id: id, bound: 'b', state: 'denied' })
    await store.sessions.update(session, { state: 'ended', ended_as: 'completed' })
    const task = await store.transaction(tx => tasks.transition(id, { to: 'verifying' }, tx))
    const row = await store.sessions.get(session)
    assert.ok(row)
    const work = { task, session: row, worktree: undefined, run, progress: NO_COMPLETION_PROGRESS }
    // It uses nothing of the supervisor but these.
    await store.transaction(tx => refuseWork(work, 'the tests fail', { deps } as unknown as SupervisorContext, tx))
    return { task: await store.tasks.get(id), session: await store.sessions.get(session) }
  }
  const first = await attempt('s-1')
  assert.deepEqual([first.task?.state, first.task?.retries, first.session?.ended_as], ['ready', 1, 'error'])
  const second = await attempt('s-2')
  assert.deepEqual([second.task?.state, second.task?.retries, second.session?.ended_as], ['waiting', 1, 'paused'])
  assert.match(second.task?.reason ?? '', /^waits for your yes to Bash rm x: pcc respond 1 .*; the tests fail$/)
  assert.deepEqual([first.session?.options.refused, second.session?.options.refused], [undefined, 1])
})
