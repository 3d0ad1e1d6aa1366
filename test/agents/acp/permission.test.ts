import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { readToolUse } from '../../../src/policy/classify/tool-use.ts'
import { ALLOW, asking, DENY, until } from '../conformance/world.ts'
import type { AgentStep } from './scripted-agent.ts'
import { stage } from './stage.ts'

const END: AgentStep = { answer: { stopReason: 'end_turn' } }
const OPTIONS = [
  { optionId: 'always', kind: 'allow_always', name: 'Always' },
  { optionId: 'yes', kind: 'allow_once', name: 'Yes' },
  { optionId: 'no', kind: 'reject_once', name: 'No' },
]

function permission(toolCall: Record<string, unknown>, options: unknown[] = OPTIONS) {
  return { ask: 'session/request_permission', params: { toolCall: { toolCallId: 'c1', ...toolCall }, options } }
}

const chosen = (optionId: string) => ({ outcome: { outcome: 'selected', optionId } })
const CANCELLED = { outcome: { outcome: 'cancelled' } }

test('a yes is for this once, never for ever', async t => {
  const { talk, replies } = await stage(t, {
    prompt: [permission({ kind: 'execute', title: 'x', rawInput: { command: 'date' } }), END],
  })
  await talk.turn()
  assert.deepEqual(replies()[0]?.result, chosen('yes'))
})

test('a yes that could only be for ever is a no', async t => {
  const { talk, replies } = await stage(t, {
    prompt: [
      permission({ kind: 'execute', title: 'x', rawInput: { command: 'date' } }, [OPTIONS[0], OPTIONS[2]]),
      permission({ toolCallId: 'c2', kind: 'execute', rawInput: { command: 'date' } }, [OPTIONS[0]]),
      END,
    ],
  })
  await talk.turn()
  assert.deepEqual(
    replies().map(one => one.result),
    [chosen('no'), CANCELLED],
  )
})

test('a call of an unknown kind, or one that does not say what it does, is named as the worst it could be', async t => {
  const asks = asking(() => DENY)
  const calls = [
    { kind: 'teleport', title: 'Go there' },
    { kind: 'execute', title: 'Something with a shell' },
    { kind: 'edit', title: 'Some file' },
    { title: 'Nothing else' },
  ]
  const { talk } = await stage(
    t,
    { prompt: [...calls.map((call, at) => permission({ toolCallId: `c${at}`, ...call })), END] },
    { open: { asks } },
  )
  assert.equal((await talk.turn()).denials, calls.length)
  for (const { tool, input } of asks.requests) {
    assert.match(tool, /^unknown:execute:/)
    assert.equal(readToolUse(tool, input).does, 'unknown')
  }
  assert.equal(asks.requests[0]?.input['title'], 'Go there')
})

test('kinds that say what they do are asked in our own words, and every file of a call on its own', async t => {
  const asks = asking(({ input }) => (String(input['file_path']).endsWith('secret.txt') ? DENY : ALLOW))
  const diff = (path: string, oldText: string | null) => ({ type: 'diff', path, oldText, newText: 'new' })
  const { talk, replies } = await stage(
    t,
    {
      prompt: [
        permission({ toolCallId: 'a', kind: 'edit', content: [diff('/p/a.txt', null), diff('/p/b.txt', 'old')] }),
        permission({ toolCallId: 'b', kind: 'edit', locations: [{ path: '/p/c.txt' }, { path: '/p/secret.txt' }] }),
        permission({ toolCallId: 'c', kind: 'delete', locations: [{ path: "/p/it's.txt" }] }),
        permission({ toolCallId: 'd', kind: 'read', locations: [{ path: '/p/d.txt' }] }),
        permission({ toolCallId: 'e', kind: 'fetch', rawInput: { url: 'https://example.com' } }),
        END,
      ],
    },
    { open: { asks } },
  )
  await talk.turn()
  assert.deepEqual(
    asks.requests.map(({ tool, input }) => [tool, Object.values(input)[0]]),
    [
      ['Write', '/p/a.txt'],
      ['Edit', '/p/b.txt'],
      ['Write', '/p/c.txt'],
      ['Write', '/p/secret.txt'],
      ['Bash', "rm -- '/p/it'\\''s.txt'"],
      ['Read', '/p/d.txt'],
      ['WebFetch', 'https://example.com'],
    ],
  )
  assert.deepEqual(
    replies().map(one => one.result),
    [chosen('yes'), chosen('no'), chosen('yes'), chosen('yes'), chosen('yes')],
  )
})

test('what was told of a call before it asks belongs to what is judged', async t => {
  const asks = asking(() => ALLOW)
  const told = {
    sessionUpdate: 'tool_call',
    toolCallId: 'c1',
    kind: 'execute',
    status: 'pending',
    rawInput: { command: 'make all' },
  }
  const { talk } = await stage(
    t,
    { prompt: [{ update: told }, permission({ title: 'Run', rawInput: {} }), END] },
    { open: { asks } },
  )
  await talk.turn()
  assert.deepEqual(asks.requests[0]?.input, { command: 'make all' })
  assert.deepEqual(talk.all('tool_request')[0]?.input, { command: 'make all' })
})

test('an interrupt in the middle of a permission calls off the ask and answers it as cancelled', async t => {
  const asked = Promise.withResolvers<AbortSignal>()
  const asks = asking((_request, signal) => {
    asked.resolve(signal)
    return new Promise(() => undefined)
  })
  const ask = permission({ kind: 'execute', rawInput: { command: 'date' } })
  const { talk, replies } = await stage(
    t,
    { prompt: [ask, { awaitCancel: true }, { answer: { stopReason: 'cancelled' } }] },
    { open: { asks } },
  )
  const signal = await asked.promise
  await talk.session.interrupt()
  assert.equal((await talk.turn()).outcome, 'interrupted')
  assert.equal(signal.aborted, true)
  assert.deepEqual(replies()[0]?.result, CANCELLED)
})

test('a permission that is asked outside of a turn is never given', async t => {
  const asks = asking(() => ALLOW)
  const late = permission({ kind: 'execute', rawInput: { command: 'date' } })
  const { talk, replies } = await stage(t, { prompt: [END, late] }, { open: { asks } })
  await talk.turn()
  await until(() => replies().length === 1)
  assert.deepEqual(replies()[0]?.result, CANCELLED)
  assert.deepEqual(asks.requests, [])
})

test('a session that is given some tools refuses the others without a question', async t => {
  const asks = asking(() => ALLOW)
  const { talk, replies } = await stage(
    t,
    {
      prompt: [
        permission({ kind: 'read', locations: [{ path: '/p/a' }] }),
        permission({ toolCallId: 'c2', kind: 'execute', rawInput: { command: 'date' } }),
        END,
      ],
    },
    { open: { asks, tools: ['Read', 'Grep'] } },
  )
  await talk.turn()
  assert.deepEqual(
    replies().map(one => one.result),
    [chosen('yes'), chosen('no')],
  )
  assert.equal(asks.requests.length, 1)
})

test('a parked call is refused and ends the session; the turn says that it is gone', async t => {
  const asks = asking(() => ({ park: true, reason: 'nobody is awake' }))
  const ask = permission({ kind: 'execute', rawInput: { command: 'date' } })
  const { talk, replies } = await stage(
    t,
    { prompt: [ask, { awaitCancel: true }, { answer: { stopReason: 'cancelled' } }] },
    { open: { asks } },
  )
  const ended = await talk.turn()
  assert.deepEqual([ended.outcome, ended.parked], ['parked', { callId: 'c1', tool: 'Bash', gone: true }])
  assert.equal((await talk.until('ended')).reason, 'closed')
  assert.deepEqual(replies()[0]?.result, CANCELLED)
})

test('a call that was allowed beside a parked one may finish before the turn ends', async t => {
  // The agent reports the end of the allowed call after it has read a file, which it may only when the other call is parked.
  const asks = asking(async ({ callId, tool }) => {
    if (tool === 'Read') await setImmediate()
    return callId === 'c2' ? { park: true, reason: 'nobody is awake' } : ALLOW
  })
  const date = { kind: 'execute', rawInput: { command: 'date' } }
  const { talk, heard, replies } = await stage(
    t,
    {
      prompt: [
        permission(date),
        { ...permission({ toolCallId: 'c2', ...date }), background: true },
        { ask: 'fs/read_text_file', params: { path: '{cwd}/none.txt' } },
        { update: { sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed' } },
        { awaitCancel: true },
        { answer: { stopReason: 'cancelled' } },
      ],
    },
    { open: { asks } },
  )
  const ended = await talk.turn()
  assert.deepEqual([ended.outcome, ended.parked?.callId], ['parked', 'c2'])
  await until(() => replies().length === 3)
  // To the agent: yes to the first call, an answer to the read, only then the cancellation, and with it the second call.
  const told = heard().filter(
    ({ id, method }) => method === 'session/cancel' || (id !== undefined && method === undefined),
  )
  assert.deepEqual(
    told.map(({ id, method }) => method ?? id),
    [1, 3, 'session/cancel', 2],
  )
  assert.deepEqual([told[0]?.result, told[3]?.result], [chosen('yes'), CANCELLED])
  assert.equal(talk.all('tool_result').length, 1)
})

test('an agent that gives up with a refused call is told why and goes on in the same turn', async t => {
  const { talk, heard } = await stage(
    t,
    {
      prompt: [permission({ kind: 'execute', title: 'date', rawInput: { command: 'date' } }), END],
      later: [{ say: 'Then I leave it.' }, END],
    },
    { manifest: { refusalEndsTurn: true }, open: { asks: asking(() => DENY) } },
  )
  const ended = await talk.turn()
  assert.deepEqual([ended.outcome, ended.text, ended.denials], ['completed', 'Then I leave it.', 1])
  const second = heard().filter(one => one.method === 'session/prompt')[1]
  assert.match(JSON.stringify(second?.params), /\\"date\\" was refused: not on my watch/)
})
