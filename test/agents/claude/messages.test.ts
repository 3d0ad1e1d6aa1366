import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { ClaudeConversation } from '../../../src/agents/claude/conversation.ts'
import { SessionEvent, type TurnOutcome } from '../../../src/domain/session.ts'

const INIT = { type: 'system', subtype: 'init', session_id: 'v-1', model: 'm', cwd: '/proj', tools: ['Bash'] }
const IDLE = { type: 'system', subtype: 'session_state_changed', state: 'idle' }
const DONE = { type: 'result', subtype: 'success', is_error: false, terminal_reason: 'completed', result: 'ok' }

// `subtype` is "success" wherever it can be: it never decides.
const OUTCOMES: [object, TurnOutcome, string?][] = [
  [{}, 'completed'],
  [{ is_error: true }, 'failed', 'other'],
  [{ terminal_reason: undefined }, 'failed', 'other'],
  [{ terminal_reason: 'something_new' }, 'failed', 'other'],
  [{ is_error: true, terminal_reason: 'api_error', api_error_status: 429 }, 'failed', 'limit'],
  [{ is_error: true, terminal_reason: 'api_error', api_error_status: 529 }, 'failed', 'overloaded'],
  [{ is_error: true, terminal_reason: 'api_error', api_error_status: 503 }, 'failed', 'server'],
  [{ is_error: true, terminal_reason: 'api_error', api_error_status: 401 }, 'failed', 'auth'],
  [{ is_error: true, terminal_reason: 'api_error', api_error_status: 400 }, 'failed', 'other'],
  [{ is_error: true, terminal_reason: 'api_error', api_error_status: null }, 'failed', 'network'],
  [{ is_error: true, terminal_reason: 'api_error', stop_reason: 'refusal' }, 'failed', 'refusal'],
  [{ is_error: true, terminal_reason: 'prompt_too_long' }, 'failed', 'prompt_too_long'],
  [{ terminal_reason: 'hook_stopped' }, 'failed', 'other'],
  [{ subtype: 'error_max_turns', is_error: true, terminal_reason: 'max_turns' }, 'capped'],
  [{ subtype: 'error_max_budget_usd', is_error: true, terminal_reason: 'budget_exhausted' }, 'capped'],
  [{ subtype: 'error_during_execution', is_error: true, terminal_reason: 'aborted_tools' }, 'failed', 'other'],
  [{ terminal_reason: 'tool_deferred', deferred_tool_use: { id: 'c', name: 'Bash', input: {} } }, 'parked'],
  // Deferred again, on a resume with a prompt.
  [{ terminal_reason: null, num_turns: 16, deferred_tool_use: { id: 'c', name: 'Bash', input: {} } }, 'parked'],
]
for (const [result, outcome, kind] of OUTCOMES) {
  test(`a result with ${JSON.stringify(result)} ends the turn as ${outcome}${kind ? ` (${kind})` : ''}`, () => {
    const [ended] = turn([{ ...DONE, ...result }]).filter(event => event.kind === 'turn_ended')
    assert.equal(ended?.outcome, outcome)
    assert.equal(ended?.failure?.kind, kind)
  })
}

test('a turn that a hook stopped is paused only when we asked for it, and interrupted likewise', () => {
  const paused = started()
  paused.pausing()
  assert.equal(endOf(paused, { ...DONE, terminal_reason: 'hook_stopped' })?.outcome, 'paused')
  const interrupted = started()
  interrupted.interrupting()
  const result = { ...DONE, subtype: 'error_during_execution', is_error: true, terminal_reason: 'aborted_streaming' }
  assert.equal(endOf(interrupted, result)?.outcome, 'interrupted')
  interrupted.read(INIT)
  assert.equal(endOf(interrupted, result)?.outcome, 'failed', 'the wish counts for one turn')
})

test('two results of one turn end it once, and the parked one counts', () => {
  const deferred = {
    ...DONE,
    terminal_reason: 'tool_deferred',
    deferred_tool_use: { id: 'c', name: 'Bash', input: {} },
  }
  for (const results of [
    [deferred, DONE],
    [DONE, deferred],
  ]) {
    const ended = turn(results).filter(event => event.kind === 'turn_ended')
    assert.deepEqual(
      ended.map(event => event.outcome),
      ['parked'],
    )
  }
})

test('a queued prompt that starts the next turn without an idle in between does not swallow an end', () => {
  const conversation = started()
  const events = [DONE, INIT, { ...DONE, result: 'second' }, IDLE].flatMap(message => conversation.read(message))
  assert.deepEqual(
    events.filter(event => event.kind === 'turn_ended').map(event => event.text),
    ['ok', 'second'],
  )
})

test('an agent that goes in the middle of a turn ends the turn and the session', () => {
  const failure = { kind: 'agent_crashed' as const, message: 'killed' }
  const events = started().end({ by: 'agent', failure })
  assert.deepEqual(
    events.map(event => event.kind),
    ['turn_ended', 'ended'],
  )
  const [turnEnded, ended] = events
  assert.equal(turnEnded?.kind === 'turn_ended' && turnEnded.failure?.kind, 'agent_crashed')
  assert.equal(ended?.kind === 'ended' && ended.reason, 'crashed')
})

test('compaction is told once at each end, whichever messages tell it', () => {
  const status = (more: object) => ({ type: 'system', subtype: 'status', status: null, ...more })
  const conversation = started()
  const events = [
    status({ status: 'compacting' }),
    status({ status: 'compacting' }),
    { type: 'system', subtype: 'compact_boundary', compact_metadata: { trigger: 'auto', pre_tokens: 1 } },
    status({ compact_result: 'success' }),
  ].flatMap(message => conversation.read(message))
  assert.deepEqual(events, [
    { kind: 'compacting', state: 'started' },
    { kind: 'compacting', state: 'ended' },
  ])
})

test('the task tools change the plan one step at a time, and a refused change changes nothing', () => {
  const conversation = started()
  const done = (id: string, name: string, input: object, output: object, isError = false) =>
    [
      { type: 'assistant', message: { id, model: 'm', content: [{ type: 'tool_use', id, name, input }] } },
      {
        type: 'user',
        message: { content: [{ type: 'tool_result', tool_use_id: id, content: 'x', is_error: isError }] },
        tool_use_result: output,
      },
    ].flatMap(message => conversation.read(message))
  done('1', 'TaskCreate', { subject: 'one' }, { task: { id: '1', subject: 'one' } })
  done('2', 'TaskCreate', { subject: 'two' }, { task: { id: '2', subject: 'two' } })
  const changed = done('3', 'TaskUpdate', { taskId: '1', status: 'in_progress' }, { success: true })
  assert.deepEqual(changed.filter(event => event.kind === 'plan').at(-1)?.items, [
    { text: 'one', state: 'active' },
    { text: 'two', state: 'pending' },
  ])
  const refused = done('4', 'TaskUpdate', { taskId: '2', status: 'completed' }, {}, true)
  assert.deepEqual(
    refused.filter(event => event.kind === 'plan'),
    [],
  )
  const listed = done('5', 'TaskList', {}, { tasks: [{ id: '2', subject: 'two', status: 'completed' }] })
  assert.deepEqual(listed.filter(event => event.kind === 'plan').at(-1)?.items, [{ text: 'two', state: 'done' }])
})

test('limits are told with times in milliseconds and every window', () => {
  const info = {
    status: 'allowed_warning',
    rateLimitType: 'five_hour',
    resetsAt: 1_893_456_000,
    utilization: 0.91,
    unifiedWindows: { five_hour: { utilization: 0.91, resetsAt: 1_893_456_000, status: 'allowed_warning' } },
  }
  assert.deepEqual(started().read({ type: 'rate_limit_event', rate_limit_info: info }), [
    {
      kind: 'limit',
      status: 'warning',
      window: 'five_hour',
      resetsAt: 1_893_456_000_000,
      utilization: 0.91,
      windows: { five_hour: { utilization: 0.91, resetsAt: 1_893_456_000_000, status: 'allowed_warning' } },
    },
  ])
})

test('a long output is cut, and says by how much', () => {
  const content = 'x'.repeat(50_000)
  const [event] = started().read({
    type: 'user',
    message: { content: [{ type: 'tool_result', tool_use_id: 'c', content: [{ type: 'text', text: content }] }] },
  })
  assert.ok(event?.kind === 'tool_result' && event.output.length < 21_000 && event.output.includes('30000 more'))
})

test('whatever the vendor sends, reading it throws nothing and gives only events of the contract', () => {
  const type = fc.constantFrom('assistant', 'user', 'result', 'system', 'rate_limit_event', 'new_thing')
  const subtype = fc.constantFrom('init', 'api_retry', 'status', 'compact_boundary', 'session_state_changed', 'success')
  const key = fc.constantFrom(
    'message',
    'state',
    'rate_limit_info',
    'is_error',
    'terminal_reason',
    'modelUsage',
    'session_id',
  )
  const message = fc
    .tuple(type, subtype, fc.dictionary(key, fc.jsonValue()))
    .map(([t, s, rest]) => ({ ...rest, type: t, subtype: s }))
  fc.assert(
    fc.property(fc.array(fc.oneof(message, fc.jsonValue())), messages => {
      const conversation = started()
      const events = [...messages.flatMap(one => conversation.read(one)), ...conversation.end({ by: 'agent' })]
      for (const event of events) assert.ok(SessionEvent.safeParse(event).success, JSON.stringify(event))
      assert.equal(events.filter(event => event.kind === 'ended').length, 1)
      assert.equal(events.at(-1)?.kind, 'ended')
    }),
  )
})

function started(): ClaudeConversation {
  const conversation = new ClaudeConversation({ resumed: false })
  conversation.prompted()
  conversation.read(INIT)
  return conversation
}

function endOf(conversation: ClaudeConversation, result: object) {
  return [result, IDLE].flatMap(message => conversation.read(message)).find(event => event.kind === 'turn_ended')
}

function turn(results: object[]): SessionEvent[] {
  const conversation = started()
  return [...results, IDLE].flatMap(message => conversation.read(message))
}
