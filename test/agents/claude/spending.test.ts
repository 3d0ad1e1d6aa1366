import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMessage } from '../../../src/agents/claude/messages.ts'
import { ClaudeSpending } from '../../../src/agents/claude/spending.ts'
import { claude } from '../claude-adapter.ts'
import { World } from '../conformance/world.ts'

const usage = { input_tokens: 100, output_tokens: 10 }
const answer = (id: string) =>
  ({ type: 'assistant', message: { id, model: 'm', content: [], usage } }) as unknown as Parameters<
    ClaudeSpending['onAnswer']
  >[0]
const totals = (inputTokens: number, cost: number) => ({
  modelUsage: {
    m: { inputTokens, outputTokens: 10, cacheReadInputTokens: 0, cacheCreationInputTokens: 0, costUSD: cost },
  },
  total_cost_usd: cost,
})
type Result = Parameters<ClaudeSpending['onResult']>[0]

test('the cost that is told within a turn counts from the opening, and leaves the tokens as they are', () => {
  const spending = new ClaudeSpending({ resumed: true })
  assert.equal(spending.onCost(9), undefined, 'what the conversation had cost before is not known yet')
  spending.setPast(totals(1000, 2))
  spending.onAnswer(answer('a'))
  assert.deepEqual(pick(spending.onCost(2.25)), { inputTokens: 100, costUsd: 0.25 })
  assert.deepEqual(pick(spending.onAnswer(answer('b'))), { inputTokens: 200, costUsd: 0.25 })
  assert.deepEqual(pick(spending.onCost(1)), { inputTokens: 200, costUsd: 0.25 }, 'never less than before')
  assert.deepEqual(pick(spending.onResult(totals(1200, 2.5) as unknown as Result)), { inputTokens: 200, costUsd: 0.5 })
})

test('a message that code of an agent wrote gives nothing back', () => {
  const spending = new ClaudeSpending({ resumed: false })
  spending.onAnswer(answer('a'))
  for (const count of [-1_000_000_000, Number.NaN, 1e300]) {
    const forged = {
      type: 'assistant',
      message: { id: `${count}`, model: 'm', content: [], usage: { input_tokens: count } },
    }
    const message = readMessage(forged)
    assert.ok(message?.type === 'assistant')
    assert.equal(spending.onAnswer(message)?.inputTokens, 100, `${count}`)
  }
  const result = readMessage({ type: 'result', subtype: 'success', is_error: false, ...totals(-5, -7) })
  assert.ok(result?.type === 'result')
  assert.deepEqual(pick(spending.onResult(result)), { inputTokens: 100, costUsd: 0 })
})

function pick(event: { inputTokens: number; costUsd: number } | undefined) {
  return event && { inputTokens: event.inputTokens, costUsd: event.costUsd }
}

test('a resumed and a forked session tell what they spent themselves, without the past', async t => {
  const steps = [{ calls: [{ run: 'true' }, { run: 'echo' }] }, { say: 'First.' }]
  const later = [
    { prompt: 'second', steps: [{ say: 'Second.' }] },
    { prompt: 'third', steps: [{ say: 'Third.' }] },
  ]
  const world = await World.open(t, claude, [{ prompt: 'first', steps, later }])
  const first = await world.talk('first')
  assert.equal((await first.turn()).turns, 2, 'calls made at once are one round with the model')
  const spent = first.all('usage').at(-1)
  await first.close()
  const vendorId = first.session.vendorId ?? ''
  for (const [prompt, fork] of [
    ['second', false],
    ['third', true],
  ] as const) {
    const talk = await world.talk(prompt, { resume: { vendorId, fork } })
    assert.equal((await talk.turn()).turns, 1)
    const usage = talk.all('usage').at(-1)
    assert.ok(spent && usage && usage.costUsd > 0 && usage.inputTokens > 0, JSON.stringify(usage))
    // The first session had two rounds of the same size, the others one each: with the past included, the sum would be larger.
    assert.ok(usage.costUsd < spent.costUsd * 0.8, `${prompt}: $${usage.costUsd} of its own, $${spent.costUsd} before`)
    assert.ok(usage.inputTokens < spent.inputTokens * 0.8, `${prompt}: ${usage.inputTokens} tokens`)
    await talk.close()
  }
})

test('the cap on rounds and the rounds that are told are the same count', async t => {
  const round = (name: string) => ({ calls: [{ run: `echo ${name}` }, { run: `echo ${name} again` }] })
  const world = await World.open(t, claude, [{ prompt: 'work', steps: ['a', 'b', 'c', 'd', 'e'].map(round) }])
  const talk = await world.talk('work', { maxTurns: 3 })
  const ended = await talk.turn()
  assert.deepEqual([ended.outcome, ended.turns], ['capped', 3])
})

test('a key that is refused is tried once more at most, not ten times', async t => {
  const world = await World.open(t, claude, [{ prompt: 'work', steps: [{ fault: { kind: 'auth' } }] }])
  const { env } = world.options()
  const talk = await world.talk('work', { env: { ...env, CLAUDE_CODE_MAX_RETRIES: '10' } })
  const ended = await talk.turn()
  assert.deepEqual([ended.outcome, ended.failure?.kind, talk.all('retry').length], ['failed', 'auth', 1])
})

test('an agent that dies keeps the rounds and tokens that are known', async t => {
  const steps = [{ calls: [{ run: 'true' }] }, { calls: [{ run: 'touch begun; sleep 300' }] }]
  const world = await World.open(t, claude, [{ prompt: 'work', steps }])
  const talk = await world.talk('work')
  await talk.until('tool_request', ({ input }) => JSON.stringify(input).includes('begun'))
  process.kill(talk.session.pid ?? 0, 'SIGKILL')
  assert.equal((await talk.turn()).turns, 2)
  assert.ok((talk.all('usage').at(-1)?.inputTokens ?? 0) > 0)
})
