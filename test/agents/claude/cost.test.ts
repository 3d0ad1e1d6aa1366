import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Spending } from '../../../src/agents/claude/messages/spending.ts'

const usage = { input_tokens: 100, output_tokens: 10 }
const answer = (id: string) =>
  ({ type: 'assistant', message: { id, model: 'm', content: [], usage } }) as unknown as Parameters<
    Spending['onAnswer']
  >[0]
const totals = (inputTokens: number, cost: number) => ({
  modelUsage: {
    m: { inputTokens, outputTokens: 10, cacheReadInputTokens: 0, cacheCreationInputTokens: 0, costUSD: cost },
  },
  total_cost_usd: cost,
})
type Result = Parameters<Spending['onResult']>[0]

test('the cost that is told within a turn counts from the opening, and leaves the tokens as they are', () => {
  const spending = new Spending({ resumed: true })
  assert.equal(spending.onCost(9), undefined, 'what the conversation had cost before is not known yet')
  spending.setPast(totals(1000, 2))
  spending.onAnswer(answer('a'))
  assert.deepEqual(pick(spending.onCost(2.25)), { inputTokens: 100, costUsd: 0.25 })
  assert.deepEqual(pick(spending.onAnswer(answer('b'))), { inputTokens: 200, costUsd: 0.25 })
  assert.deepEqual(pick(spending.onCost(1)), { inputTokens: 200, costUsd: 0 }, 'never below nothing')
  assert.deepEqual(pick(spending.onResult(totals(1200, 2.5) as unknown as Result)), { inputTokens: 200, costUsd: 0.5 })
})

function pick(event: { inputTokens: number; costUsd: number } | undefined) {
  return event && { inputTokens: event.inputTokens, costUsd: event.costUsd }
}
