import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { EventQueue } from '../../../src/agents/session-output.ts'
import type { Session } from '../../../src/domain/session.ts'
import { openStore } from '../../../src/store/open.ts'
import { startNextTask } from '../../../src/supervisor/session/execute.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession, type LiveMembers } from './live-session.ts'
import { sessionDepsOn } from './session-deps.ts'

/** The first task was completed, the second is ready, and `asked` was requested while the loop looked for the second. */
async function afterFirst(t: TestContext, asked: LiveMembers) {
  const store = await openStore({ file: `${tempDir(t)}/db` })
  t.after(() => store.close())
  const deps = sessionDepsOn(store)
  const options = { project: '/p', task: 'first' }
  await store.sessions.insert({
    id: 's-000001',
    name: 'one',
    agent: 'none',
    state: 'running',
    owner: 'boot-1',
    ...options,
    options,
  })
  const [first, second] = await store.transaction(async tx => {
    const submit = (text: string) => deps.tasks.submit({ session_id: 's-000001', project: '/p', text }, tx)
    return [await submit('first'), await submit('second')]
  })
  await store.transaction(tx => deps.tasks.claimNext('s-000001', tx))
  const live = aLiveSession({ task_id: first.id }, asked)
  const prompts: string[] = []
  const session: Session = {
    id: live.id,
    vendorId: 'v',
    events: new EventQueue(),
    prompt: async text => void prompts.push(text),
    pause: async () => {},
    interrupt: async () => {},
    [Symbol.asyncDispose]: async () => {},
  }
  const ending = await startNextTask('done', session, { live, deps })
  const states = [(await store.tasks.get(first.id))?.state, live.row.task_id === second.id]
  return { ending, prompts, states }
}

test('a claimed task is sent to the agent when nothing else was requested', async t => {
  const { ending, prompts, states } = await afterFirst(t, {})
  assert.deepEqual([ending, prompts, states], [undefined, ['second'], ['done', true]])
})

for (const [asked, as] of [
  [{ stopping: 'enough' }, 'stopped'],
  [{ pausing: 'person' }, 'paused'],
  [{ pausing: 'gate' }, 'rate_limited'],
] as const) {
  test(`${JSON.stringify(asked)} between two prompts keeps the second from being sent`, async t => {
    const { ending, prompts, states } = await afterFirst(t, asked)
    assert.deepEqual([ending?.as, ending?.task?.to, prompts, states], [as, 'waiting', [], ['done', true]])
  })
}
