import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { EscalationAnswer } from '../../../src/domain/escalation.ts'
import type { Merge } from '../../../src/domain/workspace/merge.ts'
import { openEscalations } from '../../../src/human/escalations.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Tx } from '../../../src/store/store.ts'
import type { Floor } from '../../../src/supervisor/floor.ts'
import type { MergeDesk } from '../../../src/supervisor/landing/parts.ts'
import { factsOf, type KnownFacts } from '../../../src/supervisor/landing/steps/facts.ts'
import { askPerson, askReview } from '../../../src/supervisor/landing/steps/moves.ts'
import { type Work, workOf } from '../../../src/supervisor/landing/work.ts'
import { errorRow } from '../../../src/supervisor/loop/error-row.ts'
import { tempDir } from '../../support/world.ts'
import { aRun } from '../a-run.ts'
import { partsOn } from '../parts.ts'

const YES = { verdict: 'allow', by: 'ann' } as const
const no = (reason: string) => ({ verdict: 'deny', reason, by: 'ann' }) as const

interface Asked {
  work: Work
  /** Asks a person, as landing does, and says what they answer. */
  ask(asking: (floor: Floor, tx: Tx) => Promise<unknown>, answer?: EscalationAnswer): Promise<void>
  /** What is known of the work, or of another like it, while its merge of this number waits for a review. */
  facts(other?: Partial<Work['task']>, merge?: number): Promise<KnownFacts>
}

/** A task at its first attempt, verified, of a session that is over. */
async function verified(t: TestContext): Promise<Asked> {
  const store = await openStore({ file: join(tempDir(t), 'db') })
  t.after(() => store.close())
  let now = 0
  const parts = partsOn(store, { clock: { now: () => ++now } })
  const session = await store.sessions.insert({ ...aRun().row, state: 'ended', ended_as: 'completed' })
  const id = await store.transaction(async tx => {
    const task = await parts.tasks.submit({ session_id: session.id, project: '/p', text: 'do it' }, tx)
    await parts.tasks.claimNext(session.id, tx)
    await parts.tasks.transition(task.id, { to: 'verifying' }, tx)
    await parts.tasks.transition(task.id, { to: 'merging' }, tx)
    return task.id
  })
  const work = await workOf(id, store)
  assert.ok(work)
  const merge = { mode: 'auto', strategy: 'rebase', review: true } as const
  return {
    work,
    async ask(asking, answer) {
      await store.transaction(async tx => void (await asking({ parts } as Floor, tx)))
      const [row] = await store.escalations.list({ session: session.id, states: ['open'] })
      if (row && answer) await store.transaction(tx => openEscalations(parts).settle(row.number, answer, tx))
    },
    facts(other = {}, number = 1) {
      const open = async () => ({ id: number, state: 'review' }) as Merge
      const merges = { open } as Pick<MergeDesk, 'open'> as MergeDesk
      const looked = { ...work, task: { ...work.task, ...other } }
      return factsOf(looked, { store, merges, settings: { rounds: 3, merge } })
    },
  }
}

test('a review counts for the attempt and the merge that it was about, and for no other', async t => {
  const { work, ask, facts } = await verified(t)
  await ask((floor, tx) => askReview(work, 1, floor, tx), YES)
  assert.equal((await facts()).reviewed, 'approved')
  assert.equal((await facts({ attempt: 2 })).reviewed, undefined, 'an approval of an older attempt')
  assert.equal((await facts({}, 2)).reviewed, undefined, 'an approval of an earlier merge')
  assert.equal((await facts({ id: 't-ffffff' })).reviewed, undefined, 'an approval of another task')
  assert.equal((await facts({ state: 'verifying' })).reviewed, undefined, 'an approval of what is verified anew')

  await ask((floor, tx) => askReview(work, 1, floor, tx), no('not like this'))
  const { reviewed, comments } = await facts()
  assert.deepEqual([reviewed, comments], ['returned', 'not like this'], 'the last word counts')
})

test('a task whose old attempt was given up is not given up again in its new one, nor for what its session could not do', async t => {
  const { work, ask, facts } = await verified(t)
  const trouble = (floor: Floor, tx: Tx) =>
    askPerson({ ...work, task: { ...work.task, state: 'verifying' } }, 'why', floor, tx)
  const failed = (floor: Floor, tx: Tx) =>
    openEscalations(floor.parts).record(errorRow({ kind: 'network', message: 'gone' }, work.session, 'gone'), tx)
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
  await ask((floor, tx) => askPerson({ ...work, task: { ...work.task, state: 'verifying' } }, 'why', floor, tx))
  assert.deepEqual([(await facts()).waits, (await facts({ attempt: 2 })).waits], ['trouble', undefined])
  await ask((floor, tx) => askReview(work, 1, floor, tx))
  assert.deepEqual([(await facts()).waits, (await facts({ attempt: 2 })).waits], ['review', undefined])
})
