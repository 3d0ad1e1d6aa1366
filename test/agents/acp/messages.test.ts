import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLimitEvent, readTurnLimit, rpcFailure } from '../../../src/agents/acp/failures.ts'
import { nameCalls } from '../../../src/agents/acp/tool-names.ts'
import { AcpTranslator } from '../../../src/agents/acp/translator.ts'
import { AcpToolCall, Stopped } from '../../../src/agents/acp/wire.ts'
import { readJsonLines } from '../../../src/agents/json-lines.ts'
import { claudeAcpAgent } from '../../../src/domain/agents/claude-acp.ts'
import { geminiAgent } from '../../../src/domain/agents/gemini.ts'
import type { FailureKind } from '../../../src/domain/session.ts'

const ERRORS: [unknown, FailureKind][] = [
  [{ code: -32000, message: 'Authentication required' }, 'auth'],
  [{ code: -32603, message: 'API Error: 529 Overloaded', data: { errorKind: 'overloaded' } }, 'overloaded'],
  [{ code: -32603, message: 'API Error: 500 Internal server error', data: { errorKind: 'server_error' } }, 'server'],
  [{ code: -32603, message: "You've hit your 5-hour limit", data: { errorKind: 'rate_limit' } }, 'limit'],
  [{ code: -32603, message: 'x', data: { errorKind: 'billing_error' } }, 'billing'],
  [{ code: -32603, message: 'Internal error', data: { details: 'prompt is too long: 9 > 8' } }, 'prompt_too_long'],
  [{ code: 429, message: 'You exceeded your current quota. Please retry in 3600s.' }, 'limit'],
  [{ code: 429, message: 'Your prepayment credits are depleted.' }, 'billing'],
  [{ code: 400, message: 'API key not valid. Please pass a valid API key.' }, 'auth'],
  [{ code: 400, message: 'No answer to "it was interrupted by a usage limit, and overloaded"' }, 'other'],
  [{ code: 400, message: 'Invalid request: the last message says "not logged in", "insufficient_quota"' }, 'other'],
  [
    { code: -32603, message: 'API Error: 400 {"type":"error","error":{"message":"Your credit balance is too low"}}' },
    'billing',
  ],
  [{ code: 500, message: 'exception TypeError: fetch failed sending request' }, 'network'],
  [{ code: 500, message: 'models/x is not found for API version v1beta.' }, 'model_not_found'],
  [{ code: 503, message: 'The model is busy' }, 'overloaded'],
  [{ code: -32603, message: 'Something else' }, 'other'],
  ['not an error at all', 'other'],
]
for (const [error, kind] of ERRORS)
  test(`an agent's error ${JSON.stringify(error)} is of kind ${kind}`, () => assert.equal(rpcFailure(error).kind, kind))

test('when a limit resets is read from a record first, then from the words of the program', () => {
  const now = Date.UTC(2026, 0, 1, 12)
  const none = { event: undefined, now, tz: 'UTC' }
  const record = readLimitEvent({
    '_claude/rateLimit': { status: 'rejected', rateLimitType: 'five_hour', resetsAt: now / 1000 + 60 },
  })
  assert.deepEqual(readTurnLimit('resets 3pm', { ...none, event: record }), {
    window: 'five_hour',
    resetsAt: now + 60_000,
    source: 'event',
    message: 'resets 3pm',
  })
  assert.equal(readTurnLimit('Your quota will reset after 1h2m3s.', none).resetsAt, now + 3_723_000)
  assert.equal(readTurnLimit('Suggested retry after 90s.', none).resetsAt, now + 90_000)
  assert.equal(readTurnLimit("You've hit your limit · resets 3pm (UTC)", none).resetsAt, Date.UTC(2026, 0, 1, 15))
  assert.deepEqual(readTurnLimit('No more today.', none), { source: 'result', message: 'No more today.' })
  assert.equal(readLimitEvent({ '_claude/rateLimit': { status: 'nonsense' } }), undefined)
})

test('calls of Gemini CLI, which gives no input, are read from what it shows, and judged as the worst when it shows too little', () => {
  const named = (call: Record<string, unknown>) => nameCalls(AcpToolCall.parse(call), geminiAgent.tools)
  const id = (tool: string) => `${tool}__call_1`
  const diff = { type: 'diff', path: '/p/a.txt', oldText: 'old', newText: 'new' }
  assert.deepEqual(named({ toolCallId: id('run_shell_command'), title: 'rm -rf /\ntrue' }), [
    { tool: 'Bash', input: { command: 'rm -rf /\ntrue' } },
  ])
  assert.deepEqual(named({ toolCallId: 'write_file-17', content: [diff] }), [
    { tool: 'Write', input: { file_path: '/p/a.txt', content: 'new' } },
  ])
  assert.deepEqual(named({ toolCallId: id('replace'), content: [diff] }), [
    { tool: 'Edit', input: { file_path: '/p/a.txt', old_string: 'old', new_string: 'new' } },
  ])
  assert.match(named({ toolCallId: id('run_shell_command') })[0]?.tool ?? '', /^unknown:execute:/)
  assert.match(
    named({ toolCallId: id('some_server_tool'), kind: 'other' })[0]?.tool ?? '',
    /^unknown:execute:some_server/,
  )
  assert.match(named({ toolCallId: id('constructor') })[0]?.tool ?? '', /^unknown:execute:/)
})

test('pieces of one message are one event, and those of two are two', () => {
  const translator = new AcpTranslator(claudeAcpAgent, { resumed: false })
  const say = (text: string, messageId: string, sessionUpdate = 'agent_message_chunk') =>
    translator.read({ sessionUpdate, messageId, content: { type: 'text', text } })
  const events = [
    ...say('Let me ', 'a', 'agent_thought_chunk'),
    ...say('see.', 'a', 'agent_thought_chunk'),
    ...say('One', 'a'),
    ...say('. ', 'a'),
    ...say('Two.', 'b'),
    ...translator.flush(),
  ]
  assert.deepEqual(
    events.map(event => [event.kind, 'text' in event && event.text]),
    [
      ['thinking', 'Let me see.'],
      ['text', 'One.'],
      ['text', 'Two.'],
    ],
  )
  assert.equal(translator.assembler.takeLast(), 'Two.')
  assert.equal(translator.rounds, 1)
})

test('the cost of a resumed conversation counts from its opening', () => {
  const translator = new AcpTranslator(claudeAcpAgent, { resumed: true })
  const cost = (amount: number) => {
    const [usage] = translator.read({
      sessionUpdate: 'usage_update',
      used: 1,
      size: 2,
      cost: { amount, currency: 'USD' },
    })
    return usage?.kind === 'usage' ? usage.costUsd : undefined
  }
  assert.deepEqual([cost(5), cost(5.25), cost(5.5)], [0, 0.25, 0.5])
})

test('a cost or a count that no conversation reaches is not believed', () => {
  const translator = new AcpTranslator(claudeAcpAgent, { resumed: false })
  const told = (amount: unknown, used = 1) => {
    const events = translator.read({ sessionUpdate: 'usage_update', used, size: 2, cost: { amount, currency: 'USD' } })
    return events.map(event => event.kind === 'usage' && [event.costUsd, event.contextTokens])
  }
  assert.deepEqual(
    [told(0.5), told(1e308), told(-3), told(1e6), told(0.75), told(9, 1e308)],
    [...[0.5, 0.5, 0.5, 0.5, 0.75].map(cost => [[cost, 1]]), []],
  )
  const turn = (inputTokens: number) =>
    translator.spending.turn(Stopped.parse({ stopReason: 'end_turn', usage: { inputTokens, outputTokens: 1 } }))
  const counted = [10, 1e308, -5, 20].flatMap(turn).map(event => event.kind === 'usage' && event.inputTokens)
  assert.deepEqual(counted, [10, 10, 10, 30])
})

test('lines are read however they are cut, and one without end is given up', async () => {
  const message = { jsonrpc: '2.0', method: 'x', params: { text: 'grüße' } }
  const bytes = Buffer.from(`${JSON.stringify(message)}\n\nno json\n[1]\n${JSON.stringify(message)}`)
  const cut = async function* (size: number) {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  for (const size of [1, 2, 7, 1000]) {
    const lines = await Array.fromAsync(readJsonLines(cut(size)))
    assert.deepEqual(lines, [{ message }, { garbage: 'no json' }, { garbage: '[1]' }, { message }])
  }
  const endless = async function* () {
    for (let at = 0; at < 40; at++) yield Buffer.alloc(1_000_000, 'x')
    yield Buffer.from(`\n${JSON.stringify(message)}\n`)
  }
  const [given, after] = await Array.fromAsync(readJsonLines(endless()))
  assert.match(given && 'garbage' in given ? given.garbage : '', /more than 32000000 bytes/)
  assert.deepEqual(after, { message })
})
