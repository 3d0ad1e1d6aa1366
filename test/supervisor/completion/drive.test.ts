import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { AppError } from '../../../src/base/errors.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { EscalationAnswer } from '../../../src/domain/escalation.ts'
import type { Merge } from '../../../src/domain/merge.ts'
import { openEscalations } from '../../../src/human/escalations.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Tx } from '../../../src/store/store.ts'
import type { CompletionDeps } from '../../../src/supervisor/completion/context.ts'
import { driveTask } from '../../../src/supervisor/completion/drive.ts'
import { askPerson, askReview } from '../../../src/supervisor/completion/moves.ts'
import { type KnownCompletionFacts, readFacts } from '../../../src/supervisor/completion/read-facts.ts'
import { type FinishedWork, findWork } from '../../../src/supervisor/completion/work.ts'
import type { SupervisorContext } from '../../../src/supervisor/context.ts'
import { errorRow } from '../../../src/supervisor/session/endings.ts'
import { openTasks, type Tasks } from '../../../src/tasks/tasks.ts'
import { bodiesOf } from '../../daemon/agent-sessions.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession } from '../session/live-session.ts'
import { sessionDepsOn } from '../session/session-deps.ts'

const NOW = 1_768_300_000_000

/** A task whose agent calls it done, in the project itself; `move` may refuse to move it. */
async function verifying(
  t: TestContext,
  move: (transition: Tasks['transition']) => Tasks['transition'] = same => same,
) {
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
  let verifications = 0
  const check = { gate: 'tests', kind: 'command', status: 'passed', cached: true, duration_ms: 7, findings: [] }
  const passed = { status: 'passed', isProven: true, commit: null, tree: null } as const
  // Only what the completion of a task in the project itself uses.
  const deps = {
    supervisor: { deps: { store, clock, tasks: { ...tasks, transition: move(tasks.transition) } }, log: silentLog },
    settingsOf: async () => ({
      rounds: 3,
      verify: true,
      checks: true,
      allowsUnproven: false,
      merge: { mode: 'off', strategy: 'rebase', review: false },
    }),
    verify: async () => {
      verifications += 1
      return { ...passed, checks: [check], findings: [], next_steps: [] }
    },
    wake: () => undefined,
  } as unknown as CompletionDeps
  const ending = new AbortController()
  const slot = { [Symbol.dispose]: () => undefined }
  return {
    verifications: () => verifications,
    state: async () => (await store.tasks.get(id))?.state,
    events: () => store.events({ subject: session }),
    drive: () => driveTask(id, { deps, signal: ending.signal, turn: async () => slot }),
    /** Drives the task while it is called off in the moment in which its turn comes. */
    driveCalledOff: () =>
      driveTask(id, {
        ...{ deps, signal: ending.signal },
        turn: async () => {
          ending.abort()
          return slot
        },
      }),
  }
}

test('a step that is refused is not tried again at once and for ever, but after a minute', async t => {
  let isRefused = true
  const { drive, verifications, state } = await verifying(t, transition => async (id, ...more) => {
    if (isRefused) throw new AppError('task_move_refused', { id, from: 'verifying', to: 'done' })
    return transition(id, ...more)
  })
  assert.deepEqual(await drive(), { over: true, checkAgainAt: NOW + 60_000 })
  assert.equal(verifications(), 1, 'and gates did not run twice for it')
  assert.equal(await state(), 'verifying')
  isRefused = false
  assert.deepEqual(await drive(), { over: true })
  assert.equal(await state(), 'done')
})

test('a verification is recorded with each gate, its outcome, and how long it took', async t => {
  const { drive, events } = await verifying(t)
  await drive()
  const [verified] = bodiesOf(await events(), 'task.verified')
  assert.deepEqual([verified?.status, verified?.round], ['passed', 1])
  assert.deepEqual(verified?.checks, [{ gate: 'tests', status: 'passed', cached: true, duration_ms: 7 }])
})

test('a task that is called off while it waits for its turn is not verified', async t => {
  const { driveCalledOff, verifications, state } = await verifying(t)
  await driveCalledOff()
  assert.deepEqual([verifications(), await state()], [0, 'verifying'])
})

const YES = { verdict: 'allow', by: 'ann' } as const
const no = (reason: string) => ({ verdict: 'deny', reason, by: 'ann' }) as const

interface Asked {
  work: FinishedWork
  /** Asks a person, as completion does, and gives their answer. */
  ask(asking: (supervisor: SupervisorContext, tx: Tx) => Promise<unknown>, answer?: EscalationAnswer): Promise<void>
  /** The facts of the work, or of a similar one, while its merge of this number waits for a review. */
  facts(other?: Partial<FinishedWork['task']>, merge?: number): Promise<KnownCompletionFacts>
}

/** A verified task at its first attempt, whose session is over. */
async function verified(t: TestContext): Promise<Asked> {
  const store = await openStore({ file: join(tempDir(t), 'db') })
  t.after(() => store.close())
  let now = 0
  const deps = sessionDepsOn(store, { clock: { now: () => ++now } })
  const session = await store.sessions.insert({ ...aLiveSession().row, state: 'ended', ended_as: 'completed' })
  const id = await store.transaction(async tx => {
    const task = await deps.tasks.submit({ session_id: session.id, project: '/p', text: 'do it' }, tx)
    await deps.tasks.claimNext(session.id, tx)
    await deps.tasks.transition(task.id, { to: 'verifying' }, tx)
    await deps.tasks.transition(task.id, { to: 'merging' }, tx)
    return task.id
  })
  const work = await findWork(id, store)
  assert.ok(work)
  const merge = { mode: 'auto', strategy: 'rebase', review: true } as const
  return {
    work,
    async ask(asking, answer) {
      await store.transaction(async tx => void (await asking({ deps } as SupervisorContext, tx)))
      const [row] = await store.escalations.list({ session: session.id, states: ['open'] })
      if (row && answer) await store.transaction(tx => openEscalations(deps).settle(row.number, answer, tx))
    },
    facts(other = {}, number = 1) {
      const open = async () => ({ id: number, state: 'review' }) as Merge
      const similar = { ...work, task: { ...work.task, ...other } }
      return readFacts(similar, {
        store: { ...store, merges: { ...store.merges, open } },
        settings: { rounds: 3, verify: true, checks: true, allowsUnproven: false, allowsKnownFailures: false, merge },
      })
    },
  }
}

test('a review counts for the attempt and the merge that it was about, and for no other', async t => {
  const { work, ask, facts } = await verified(t)
  await ask((supervisor, tx) => askReview(work, 1, supervisor, tx), YES)
  assert.equal((await facts()).reviewed, 'approved')
  assert.equal((await facts({ attempt: 2 })).reviewed, undefined, 'an approval of an older attempt')
  assert.equal((await facts({}, 2)).reviewed, undefined, 'an approval of an earlier merge')
  assert.equal((await facts({ id: 't-ffffff' })).reviewed, undefined, 'an approval of another task')
  assert.equal((await facts({ state: 'verifying' })).reviewed, undefined, 'an approval of what is verified anew')

  await ask((supervisor, tx) => askReview(work, 1, supervisor, tx), no('not like this'))
  const { reviewed, comments } = await facts()
  assert.deepEqual([reviewed, comments], ['returned', 'not like this'], 'the last word counts')
})

test('a task whose old attempt was given up is not given up again in its new one, nor for what its session could not do', async t => {
  const { work, ask, facts } = await verified(t)
  const trouble = (supervisor: SupervisorContext, tx: Tx) =>
    askPerson({ ...work, task: { ...work.task, state: 'verifying' } }, 'why', supervisor, tx)
  const failed = (supervisor: SupervisorContext, tx: Tx) =>
    openEscalations(supervisor.deps).record(errorRow({ kind: 'network', message: 'gone' }, work.session, 'gone'), tx)
  await ask(failed, no('leave it'))
  assert.equal((await facts()).givenUp, undefined)
  await ask(trouble, no('not wanted'))
  assert.equal((await facts()).givenUp, 'not wanted')
  assert.equal((await facts({ attempt: 2 })).givenUp, undefined)
  assert.equal((await facts({ id: 't-ffffff' })).givenUp, undefined)
  await ask(trouble, YES)
  assert.equal((await facts()).givenUp, undefined, 'the last word counts')
})

test('a task waits for a person as long as what was asked of this attempt is open', async t => {
  const { work, ask, facts } = await verified(t)
  assert.equal((await facts()).waits, undefined)
  await ask((supervisor, tx) =>
    askPerson({ ...work, task: { ...work.task, state: 'verifying' } }, 'why', supervisor, tx),
  )
  assert.deepEqual([(await facts()).waits, (await facts({ attempt: 2 })).waits], ['trouble', undefined])
  await ask((supervisor, tx) => askReview(work, 1, supervisor, tx))
  assert.deepEqual([(await facts()).waits, (await facts({ attempt: 2 })).waits], ['review', undefined])
})
