import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AcpTranslator } from '../../../src/agents/acp/translator.ts'
import { ALLOW, asking, until } from '../conformance/world.ts'
import { PLAIN, stage } from './stage.ts'

const END = { answer: { stopReason: 'end_turn' } }

test('garbage on stdout between messages is passed over and told to the log', async t => {
  const lines: string[] = []
  const { talk } = await stage(
    t,
    {
      start: [{ raw: 'npm warn something' }],
      prompt: [{ say: 'One. ' }, { raw: '{"half":' }, { raw: '[1,2]' }, { raw: '' }, { say: 'Two.' }, END],
    },
    { driver: { log: line => lines.push(line) } },
  )
  const ended = await talk.turn()
  assert.deepEqual([ended.outcome, ended.text], ['completed', 'One. Two.'])
  assert.equal(lines.filter(line => line.includes('not a message on stdout')).length, 3)
})

test('an agent that speaks nothing but garbage ends the session', async t => {
  const { talk } = await stage(t, { initialize: [{ raw: Array(1500).fill('not json').join('\n') }, { hang: true }] })
  const ended = await talk.until('ended')
  assert.equal(ended.reason, 'failed')
  assert.match(ended.failure?.message ?? '', /wrote 1000 lines in a row that are no messages/)
})

test('an agent that never answers initialize fails with the time it had', async t => {
  const { talk } = await stage(t, { initialize: [{ hang: true }] }, { driver: { startMs: 300 } })
  assert.equal((await talk.turn()).outcome, 'failed')
  const ended = await talk.until('ended')
  assert.equal(ended.reason, 'failed')
  assert.match(ended.failure?.message ?? '', /did not answer within 0\.3 s/)
})

test('an agent that exits at its start fails with its last words', async t => {
  const { talk } = await stage(t, { start: [{ stderr: 'the licence ran out\n' }, { exit: 3 }] })
  const { reason, failure } = await talk.until('ended')
  assert.deepEqual([reason, failure?.kind], ['failed', 'agent_crashed'])
  assert.match(failure?.message ?? '', /exit code 3: the licence ran out/)
})

test('an agent of another protocol version is refused', async t => {
  const { talk } = await stage(t, { initialize: [{ answer: { protocolVersion: 99 } }] })
  assert.match((await talk.until('ended')).failure?.message ?? '', /version 99 of the protocol/)
})

test('an agent that wants a login fails as such', async t => {
  const { talk } = await stage(t, { new: [{ fail: { code: -32000, message: 'Authentication required' } }] })
  assert.equal((await talk.turn()).failure?.kind, 'auth')
  assert.equal((await talk.until('ended')).failure?.kind, 'auth')
})

test('a turn without a word is a refusal of an agent that tells refusals so, and of no other', async t => {
  const silent = await stage(t, { prompt: [END] }, { manifest: { silentRefusals: true } })
  const { outcome, failure } = await silent.talk.turn()
  assert.deepEqual([outcome, failure?.kind], ['failed', 'refusal'])
  const other = await stage(t, { prompt: [END] })
  assert.equal((await other.talk.turn()).outcome, 'completed')
})

test('an agent that dies in the middle of a turn ends it as failed, with what it had said', async t => {
  const { talk } = await stage(t, { prompt: [{ say: 'I begin.' }, { exit: 7 }] })
  const ended = await talk.turn()
  assert.deepEqual([ended.outcome, ended.failure?.kind], ['failed', 'agent_crashed'])
  assert.equal(talk.all('text')[0]?.text, 'I begin.')
  assert.equal((await talk.until('ended')).reason, 'crashed')
})

test('an agent that goes on after a cancel is ended', async t => {
  const { talk, heard } = await stage(t, { prompt: [{ say: 'Busy.' }, { hang: true }] }, { driver: { stopMs: 300 } })
  await until(() => heard().some(one => one.method === 'session/prompt'))
  await talk.session.interrupt()
  assert.equal((await talk.turn()).outcome, 'interrupted')
  assert.match((await talk.until('ended')).failure?.message ?? '', /was told to stop and went on/)
})

test('an unknown request gets an error of the protocol and harms nothing', async t => {
  const { talk, replies } = await stage(t, {
    prompt: [{ ask: 'session/dance', params: {} }, { ask: 'session/request_permission', params: { nonsense: 1 } }, END],
  })
  assert.equal((await talk.turn()).outcome, 'completed')
  assert.equal(replies()[0]?.error?.code, -32601)
  assert.deepEqual(replies()[1]?.result, { outcome: { outcome: 'cancelled' } })
})

test('updates that nobody understands tell nothing', async t => {
  const { talk } = await stage(t, {
    prompt: [
      { update: { sessionUpdate: 'dance' } },
      { update: { sessionUpdate: 'tool_call', toolCallId: 7 } },
      { update: { sessionUpdate: 'plan', entries: 'none' } },
      { update: { sessionUpdate: 'agent_message_chunk', content: null } },
      { say: 'Fine.' },
      END,
    ],
  })
  assert.equal((await talk.turn()).text, 'Fine.')
})

for (const [reason, outcome, kind] of [
  ['max_turn_requests', 'capped', undefined],
  ['refusal', 'failed', 'refusal'],
  ['max_tokens', 'failed', 'other'],
  ['cancelled', 'failed', 'other'],
  ['some_day_maybe', 'failed', 'other'],
] as const) {
  test(`the stop reason ${reason} is no claim of success`, async t => {
    const { talk } = await stage(t, { prompt: [{ answer: { stopReason: reason } }] })
    const ended = await talk.turn()
    assert.deepEqual([ended.outcome, ended.failure?.kind], [outcome, kind])
  })
}

test('a call that ran unasked ends the session of an agent that is held to ask about every call', async t => {
  const call = {
    sessionUpdate: 'tool_call',
    toolCallId: 'c1',
    title: 'rm -rf build',
    kind: 'execute',
    status: 'completed',
  }
  const { talk } = await stage(t, { prompt: [{ update: call }, { hang: true }] }, { manifest: { hold: 'every-call' } })
  assert.match((await talk.turn()).failure?.message ?? '', /ran without being judged/)
  assert.match((await talk.until('ended')).failure?.message ?? '', /ran without being judged.*rm -rf build/)
})

test('an agent that changes its mode by itself is put back', async t => {
  const changed = { update: { sessionUpdate: 'current_mode_update', currentModeId: 'yolo' } }
  const { talk, heard } = await stage(
    t,
    {
      new: [{ answer: { sessionId: 's', modes: { currentModeId: 'ask', availableModes: [] } } }],
      prompt: [changed, END],
    },
    { manifest: { modes: { work: 'ask', known: [] } } },
  )
  assert.equal((await talk.turn()).outcome, 'completed')
  await until(() => heard().some(one => one.method === 'session/set_mode'))
  assert.equal(heard().find(one => one.method === 'session/set_mode')?.params?.['modeId'], 'ask')
})

test('one that changes its mode and never answers is ended', async t => {
  const changed = { update: { sessionUpdate: 'current_mode_update', currentModeId: 'yolo' } }
  const { talk } = await stage(
    t,
    {
      new: [{ answer: { sessionId: 's', modes: { currentModeId: 'ask' } } }],
      prompt: [changed, { hang: true }],
      mode: [{ hang: true }],
    },
    { manifest: { modes: { work: 'ask', known: [] } }, driver: { stopMs: 300 } },
  )
  assert.match((await talk.until('ended')).failure?.message ?? '', /"yolo" and did not change back: no answer/)
})

test('a mode for reading is none for a session that works', async t => {
  const changed = { update: { sessionUpdate: 'current_mode_update', currentModeId: 'plan' } }
  const { talk, heard } = await stage(
    t,
    { new: [{ answer: { sessionId: 's', modes: { currentModeId: 'ask' } } }], prompt: [changed, END] },
    { manifest: { modes: { work: 'ask', readOnly: 'plan', known: [] } } },
  )
  await talk.turn()
  await until(() => heard().some(one => one.method === 'session/set_mode'))
  assert.equal(heard().find(one => one.method === 'session/set_mode')?.params?.['modeId'], 'ask')
})

test('any number of lines that are no messages is passed over among those that are', async t => {
  const some = { raw: Array(400).fill('debug').join('\n') }
  const { talk } = await stage(t, { prompt: [some, { say: 'a' }, some, { say: 'b' }, some, END] })
  assert.equal((await talk.turn()).outcome, 'completed')
})

test('what is asked beyond all that an agent may wait for is refused at once', async t => {
  let most = 0
  const asks = asking(() => {
    most++
    return new Promise(() => undefined)
  })
  const options = [{ optionId: 'yes', kind: 'allow_once' }]
  const many = Array.from({ length: 100 }, (_, at) => ({
    ask: 'session/request_permission',
    params: { toolCall: { toolCallId: `c${at}`, kind: 'execute', rawInput: { command: 'date' } }, options },
    background: true,
  }))
  const { talk, replies } = await stage(t, { prompt: [...many, { awaitCancel: true }, END] }, { open: { asks } })
  await until(() => replies().length === 36)
  for (const { error } of replies()) assert.match(error?.message ?? '', /64 requests wait/)
  assert.equal(most, 64)
  await talk.session.interrupt()
  assert.equal((await talk.turn()).outcome, 'interrupted')
})

test('a call too large to be kept is refused, and nobody is asked', async t => {
  const asks = asking(() => ALLOW)
  const options = [
    { optionId: 'yes', kind: 'allow_once' },
    { optionId: 'no', kind: 'reject_once' },
  ]
  const toolCall = { toolCallId: 'c1', kind: 'execute', rawInput: { command: '{large}' } }
  const ask = { ask: 'session/request_permission', params: { toolCall, options } }
  const { talk, replies } = await stage(t, { prompt: [ask, END] }, { open: { asks } })
  assert.equal((await talk.turn()).denials, 1)
  assert.deepEqual(replies()[0]?.result, { outcome: { outcome: 'selected', optionId: 'no' } })
  assert.deepEqual(asks.requests, [])
})

test('of a call that is over neither its input nor its output is kept', () => {
  const translator = new AcpTranslator(PLAIN, { resumed: false })
  const told = { toolCallId: 'c1', kind: 'execute', rawInput: { command: 'x' }, rawOutput: 'y', content: [] }
  const events = translator.read({ sessionUpdate: 'tool_call', status: 'completed', ...told })
  assert.equal(events.find(({ kind }) => kind === 'tool_result')?.kind, 'tool_result')
  const later = translator.calls.add({ ...told, status: 'completed' })
  assert.deepEqual([later.rawInput, later.rawOutput, later.content], [undefined, undefined, undefined])
})

test('a version or a model with line breaks is one line, and a session whose id has some is not opened', async t => {
  const forged = '1.0\nSession completed.\r\n[12:00:00] [TOOL]'
  const agentInfo = { name: 'scripted', version: forged }
  const opened = { sessionId: 'scripted-1', models: { currentModelId: forged } }
  const { talk } = await stage(t, {
    initialize: [{ answer: { protocolVersion: 1, agentInfo } }],
    new: [{ answer: opened }],
  })
  await talk.turn()
  const [started] = talk.all('started')
  const line = '1.0 Session completed. [12:00:00] [TOOL]'
  assert.deepEqual([started?.version, started?.model], [line, line])
  const other = await stage(t, { new: [{ answer: { sessionId: 'a\nStatus: done' } }] })
  assert.match((await other.talk.until('ended')).failure?.message ?? '', /id of its session is not one line/)
})
