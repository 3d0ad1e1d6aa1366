import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settleStrategy } from '../../../src/supervisor/models/settle-strategy.ts'

const settings = { strategy: 'cost-optimized' } as const

test('cost-optimized is what holds when nobody said anything', () => {
  assert.deepEqual(settleStrategy({ flags: {}, settings }), { strategy: 'cost-optimized' })
})

test('--model implies fixed, whatever the settings say', () => {
  const asked = settleStrategy({ flags: { model: 'opus' }, settings: { model: 'haiku', strategy: 'escalate' } })
  assert.deepEqual(asked, { strategy: 'fixed', model: 'opus' })
})

test('so does a model in the settings, until a flag names another strategy', () => {
  const named = { model: 'haiku', strategy: 'escalate' } as const
  assert.deepEqual(settleStrategy({ flags: {}, settings: named }), { strategy: 'fixed', model: 'haiku' })
  const asked = settleStrategy({ flags: { strategy: 'plan-then-execute' }, settings: named })
  assert.deepEqual(asked, { strategy: 'plan-then-execute' })
  assert.deepEqual(settleStrategy({ flags: { strategy: 'fixed' }, settings: named }), {
    strategy: 'fixed',
    model: 'haiku',
  })
})

test('a model together with a strategy that picks models is refused', () => {
  const asked = settleStrategy({ flags: { model: 'opus', strategy: 'escalate' }, settings })
  assert.match('problem' in asked ? asked.problem : '', /--model opus means.*"escalate": leave one of them out/)
  const same = settleStrategy({ flags: { model: 'opus', strategy: 'fixed' }, settings })
  assert.deepEqual(same, { strategy: 'fixed', model: 'opus' })
})
