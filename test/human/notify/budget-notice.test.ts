import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventOf } from '../../../src/domain/event.ts'
import { budgetNotice } from '../../../src/human/notify/notices/budget-notice.ts'

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
