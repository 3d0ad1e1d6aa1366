import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EscalationRow, Store } from '../../src/store/store.ts'
import { AN_ESCALATION } from '../support/an-escalation.ts'
import { DATABASES } from './databases.ts'

for (const { name, open } of DATABASES) {
  test(`${name}: numbers are small and rise by one; a row is read as it was written`, async t => {
    const store = await open(t)
    assert.deepEqual([await add(store, {}), await add(store, { fingerprint: 'f2' })], [1, 2])
    assert.deepEqual(await store.escalations.get(1), { number: 1, ...ROW })
    assert.equal(await store.escalations.get(3), undefined)
  })

  test(`${name}: rows are listed oldest first, by session and by state, and counted`, async t => {
    const store = await open(t)
    await add(store, {})
    await add(store, { session_id: 's-2' })
    await add(store, { fingerprint: 'f2', state: 'open' })
    await store.transaction(tx =>
      store.escalations.answer(1, { verdict: 'deny', by: 'human', at: 9, from: 'denied' }, tx),
    )
    const numbers = async (filter?: Parameters<Store['escalations']['list']>[0]) =>
      (await store.escalations.list(filter)).map(({ number }) => number)
    assert.deepEqual(await numbers(), [1, 2, 3])
    assert.deepEqual(await numbers({ session: 's-1' }), [1, 3])
    assert.deepEqual(await numbers({ states: ['open', 'denied'] }), [2, 3])
    assert.deepEqual(await numbers({ session: 's-2', states: ['answered'] }), [])
    assert.equal(await store.escalations.count(['open', 'denied']), 2)
  })

  test(`${name}: a refused request is allowed only after a yes, for its task, for a time, and is used once`, async t => {
    const store = await open(t)
    await add(store, { task_id: 't-1', bound: 'b1' })
    const allow = () => store.transaction(tx => store.escalations.allowOnce(1, 100, tx))
    const use = (more: { bound?: string; task?: string; now?: number } = {}) =>
      store.transaction(tx => store.escalations.spendAllowance({ bound: 'b1', task: 't-1', now: 50, ...more }, tx))
    assert.equal(await allow(), false, 'nobody has said yes')
    assert.equal(await use(), undefined)
    const yes = { verdict: 'allow', by: 'ann', at: 9, from: 'denied' } as const
    await store.transaction(tx => store.escalations.answer(1, yes, tx))
    assert.equal(await use(), undefined, 'a yes alone allows nothing')
    assert.equal(await allow(), true)
    assert.equal(await use({ task: 't-2' }), undefined, 'another task')
    assert.equal(await use({ bound: 'b2' }), undefined, 'another request, or another tree')
    assert.equal(await use({ now: 100 }), undefined, 'its time is over')
    const used = await Promise.all([use(), use(), use()])
    assert.deepEqual(
      used.filter(row => row !== undefined).map(({ number, used_at }) => [number, used_at]),
      [[1, 50]],
    )
    assert.equal(await allow(), false, 'what was used cannot be allowed again')
    assert.equal(await use(), undefined)
  })

  test(`${name}: of two answers the first is kept unchanged`, async t => {
    const store = await open(t)
    await add(store, {})
    const say = (verdict: 'allow' | 'deny', by: string, at: number) =>
      store.transaction(tx =>
        store.escalations.answer(1, { verdict, by, reason: `${by} said so`, at, from: 'denied' }, tx),
      )
    assert.deepEqual(await Promise.all([say('deny', 'ann', 5), say('allow', 'bob', 6)]), [true, false])
    const row = await store.escalations.get(1)
    assert.deepEqual(
      [row?.state, row?.verdict, row?.answered_by, row?.answered_at, row?.answer_reason],
      ['answered', 'deny', 'ann', 5, 'ann said so'],
    )
  })

  test(`${name}: the database itself refuses a second waiting row for the same request of one session`, async t => {
    const store = await open(t)
    await add(store, {})
    await assert.rejects(add(store, { state: 'open' }))
    await store.transaction(tx =>
      store.escalations.answer(1, { verdict: 'allow', by: 'human', at: 9, from: 'denied' }, tx),
    )
    assert.equal(await add(store, {}), 2, 'an answered one waits no more')
  })

  test(`${name}: open rows are due at their deadline, the earliest first, with the time of the next deadline`, async t => {
    const store = await open(t)
    const deadlines = [30, 20, 10, 50, 40, null]
    for (const deadline of deadlines) await add(store, { fingerprint: `f${deadline}`, state: 'open', deadline })
    await add(store, { fingerprint: 'denied long ago', deadline: 5 })
    await add(store, { fingerprint: 'denied lately', deadline: 35 })
    const due = async (now: number) => {
      const { rows, next } = await store.escalations.due(now)
      return { due: rows.map(({ deadline }) => deadline), next }
    }
    assert.deepEqual(await due(9), { due: [], next: 10 })
    assert.deepEqual(await due(30), { due: [10, 20, 30], next: 40 })
    assert.deepEqual(await due(99), { due: [10, 20, 30, 40, 50], next: undefined })
    await store.transaction(tx => store.escalations.dropDeadline(3, tx))
    assert.deepEqual(await due(20), { due: [20], next: 30 })
  })

  test(`${name}: a row whose input was damaged stays listable`, async t => {
    const store = await open(t)
    await add(store, {})
    await store.transaction(tx => tx.db.updateTable('escalations').set({ input: '{' }).execute())
    assert.deepEqual(await store.escalations.get(1), { number: 1, ...ROW, input: {} })
  })

  test(`${name}: one answer is kept per project and request, the newest`, async t => {
    const store = await open(t)
    const of = { kind: 'permission', tool: 'Bash', normalised: 'Bash x', asked: 'Bash x', fingerprint: 'f1' } as const
    const said = { ...of, answer: null, by: 'human', answered_at: 1, session_id: null, lasting: false }
    await store.answers.put({ ...said, project: '/p', verdict: 'allow' })
    await store.answers.put({ ...said, project: '/p', verdict: 'deny', by: 'ann', answered_at: 2 })
    await store.answers.put({ ...said, project: '/q', verdict: 'allow' })
    const { id, ...found } = (await store.answers.find('/p', 'f1')) ?? { id: '' }
    assert.match(id, /^a-[0-9a-f]{6}$/)
    assert.deepEqual(found, { ...said, project: '/p', verdict: 'deny', by: 'ann', answered_at: 2 })
    assert.equal((await store.answers.find('/q', 'f1'))?.verdict, 'allow')
    assert.equal(await store.answers.find('/p', 'f2'), undefined)
  })
}

const ROW: EscalationRow = { ...AN_ESCALATION, state: 'denied' }

function add(store: Store, changes: Partial<EscalationRow>): Promise<number> {
  return store.transaction(tx => store.escalations.insert({ ...ROW, ...changes }, tx))
}
