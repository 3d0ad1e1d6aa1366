import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listPrice, PRICES } from '../../../src/agents/hooks/usage.ts'

/** Names of models as programs write them down. */
const MODELS: Record<string, [input: number, output: number]> = {
  'claude-opus-5-5': [4, 20],
  'claude-opus-4-5-20251101': [5, 25],
  'claude-opus-4-5@20251101': [5, 25],
  'claude-opus-4.7': [5, 25],
  'claude-opus-5': [5, 25],
  'claude-sonnet-5': [2, 10],
  'claude-sonnet-5-20260301': [2, 10],
  'claude-sonnet-5-5': [2, 10],
  'claude-sonnet-4-20250514': [3, 15],
  'claude-sonnet-4-6[1m]': [3, 15],
  'claude-haiku-5-5': [0.1, 0.5],
  'claude-haiku-4-5-20251001': [1, 5],
  'claude-fable-5-2': [8, 40],
  'gpt-5.5': [5, 30],
  'gpt-5.4': [2.5, 15],
  'gpt-5.3-codex': [1.75, 14],
  'gpt-5-2025-08-07': [1.25, 10],
  'gpt-5.1-codex': [1.25, 10],
  'gpt-5-mini': [0.25, 2],
  'gemini-3.1-pro-preview': [2, 12],
  'gemini-3-flash-preview': [0.5, 3],
  'gemini-2.5-pro-preview-06-05': [1.25, 10],
  'gemini-2.5-flash': [0.3, 2.5],
}

test('a model has the price of one row, also with a date after its name, and every row has a model', () => {
  for (const [model, [input, output]] of Object.entries(MODELS)) {
    assert.deepEqual(listPrice(model), { input, output }, model)
    assert.equal(PRICES.filter(([name]) => name.test(model)).length, 1, model)
  }
  const idle = PRICES.filter(([name]) => !Object.keys(MODELS).some(model => name.test(model)))
  assert.deepEqual(idle, [])
})

test('a later version of a model, a variant of it and an alias have no price', () => {
  for (const model of [
    ...['claude-sonnet-5-6', 'claude-sonnet-4-9', 'claude-opus-5-6', 'claude-haiku-4-6', 'claude-fable-5'],
    ...['claude-sonnet-5-mini', 'gpt-5.6', 'gpt-5-nano', 'gemini-3-flash-lite', 'gemini-3-pro-image', 'sonnet', 'opus'],
  ])
    assert.equal(listPrice(model), undefined, model)
})
