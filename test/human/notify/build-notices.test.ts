import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { EventBody, EventOf } from '../../../src/domain/event.ts'
import { budgetNotice, buildNotices, reportNotice } from '../../../src/human/notify/build-notices.ts'
import { openStore } from '../../../src/store/open.ts'
import { tempDir } from '../../support/world.ts'

/** The notices for a run with this ending. */
async function toldOf(t: TestContext, body: EventBody<'run.ended'>) {
  const store = await openStore({ file: `${tempDir(t)}/db` })
  t.after(() => store.close())
  await store.transaction(tx =>
    store.runs.insert(
      {
        ...{ id: 'r-aaaaaa', project: '/nowhere/shop', target: { kind: 'feature', name: 'checkout' }, options: {} },
        ...{ state: 'ended', outcome: body.outcome, reason: body.reason, gave_up: null, stopping: false },
        ...{ iterations: 3, created_at: 1, ended_at: 2 },
      },
      tx,
    ),
  )
  const [event] = await store.append([{ actor: 'daemon', subject: 'r-aaaaaa', kind: 'run.ended', body }])
  assert.ok(event)
  return (await buildNotices(event, { store, hidden: [] })).map(({ kind, title, text }) => ({ kind, title, text }))
}

test('the end of a run is told once, with how its tasks stand', async t => {
  const tasks = { done: 3, cancelled: 1 }
  assert.deepEqual(await toldOf(t, { outcome: 'complete', reason: 'every task is done', tasks, unverified: 3 }), [
    {
      kind: 'complete',
      title: 'The run of checkout in shop is complete',
      text: 'every task is done\n3 done (unverified)',
    },
  ])
})

test('one that could not do everything is told as an error, one that a person interrupted not at all', async t => {
  const tasks = { done: 2, failed: 1, blocked: 4 }
  assert.deepEqual(await toldOf(t, { outcome: 'failure', reason: '1 task failed', tasks, unverified: 1 }), [
    {
      kind: 'error',
      title: 'The run of checkout in shop failed',
      text: '1 task failed\n2 done (1 unverified), 1 failed, 4 left',
    },
  ])
  assert.deepEqual(await toldOf(t, { outcome: 'interrupted', reason: 'stopped by a person' }), [])
})

const NONE = { since: 0, until: 1, done: 0, failed: 0, unfinished: 0, waiting: 0, cost_usd: 0, titles: [] }
const made = (more: object) => ({ id: 1, body: { ...NONE, ...more } }) as unknown as EventOf<'report.made'>

test('a night in which a run was to begin and did not is told, though nothing was done in it', () => {
  assert.equal(reportNotice(made({})), undefined)
  assert.equal(reportNotice(made({ not_begun: 1 }))?.title, 'The night: 1 run did not begin')
  assert.equal(reportNotice(made({ done: 2, not_begun: 2 }))?.title, 'The night: 2 done, 2 runs did not begin')
})

function event<Kind extends 'budget.warned' | 'budget.spent'>(
  kind: Kind,
  body: Partial<EventOf<Kind>['body']>,
  subject = 's-1',
): EventOf<Kind> {
  const whole = { scope: 'day', key: '2026-11-15', measure: 'cost_usd', spent: 16.4, limit: 20, ...body }
  return { id: 1, time: 1, actor: 'daemon', schema_version: 1, subject, kind, body: whole } as EventOf<Kind>
}

test('a budget that is nearly spent is told once, whichever session met it, and again when it was changed', () => {
  const notice = budgetNotice(event('budget.warned', {}))
  assert.equal(notice?.title, "82 % of the day's budget of 20.00 usd is spent")
  assert.match(notice?.text ?? '', /^16\.40 usd of 20\.00 usd\. See: pcc budget$/)
  assert.equal(budgetNotice(event('budget.warned', { spent: 17 }, 's-2'))?.key, notice?.key)
  assert.notEqual(budgetNotice(event('budget.warned', { limit: 21 }))?.key, notice?.key)
})

test('that the day is spent is told, since nobody is asked; of the others a decision tells', () => {
  assert.match(budgetNotice(event('budget.spent', { spent: 21 }))?.title ?? '', /^all of the day's budget/)
  assert.equal(budgetNotice(event('budget.spent', { scope: 'session', key: 's-1' })), undefined)
})
