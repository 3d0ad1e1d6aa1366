import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { clearConversation, whyNotCleared } from '../../../src/agents/claude/clear-conversation.ts'
import { whyUnlike } from '../../../src/agents/claude/kept-processes.ts'
import { doubtAfter, ProcessUse } from '../../../src/agents/claude/process-use.ts'
import type { ClaudeProcess } from '../../../src/agents/claude/session.ts'
import type { OpenSession, SessionEvent } from '../../../src/domain/session.ts'
import { asking, DENY } from '../conformance/world.ts'

// When a process may serve another session, decided from what it says and from what the two sessions are opened with.

const INIT = { type: 'system', subtype: 'init', session_id: 'new', tools: ['Read'], mcp_servers: [], uuid: 'u' }
const STATE = { type: 'system', subtype: 'session_state_changed', session_id: 'old' }
/** What Claude Code 2.1.325 says when it clears its conversation. */
const CLEARED: Record<string, unknown>[] = [
  { ...STATE, state: 'running' },
  { type: 'conversation_reset', trigger: 'clear', session_id: 'old' },
  { type: 'system', subtype: 'background_tasks_changed', session_id: 'old', tasks: [] },
  INIT,
  { type: 'result', subtype: 'success', is_error: false, num_turns: 0, total_cost_usd: 0, session_id: 'new' },
  { ...STATE, state: 'idle', session_id: 'new' },
]

function introduced(): ProcessUse {
  const use = new ProcessUse()
  use.introduce({ ...INIT, session_id: 'first', uuid: 'other', model: 'haiku' })
  return use
}

test('a conversation counts as cleared only with every sign of it and nothing else', () => {
  assert.equal(whyNotCleared(CLEARED, introduced()), undefined)
  for (const missing of [1, 2, 3, 4])
    assert.notEqual(whyNotCleared(CLEARED.toSpliced(missing, 1), introduced()), undefined, `without ${missing}`)
  const wrong: [number, object][] = [
    [1, { trigger: 'plan_mode_exit' }],
    [1, { session_id: 'new' }],
    [2, { tasks: [{ task_id: 'b' }] }],
    [2, { tasks: undefined }],
    [3, { tools: ['Read', 'Left'] }],
    [3, { mcp_servers: [{ name: 'left' }] }],
    [4, { is_error: true }],
    [4, { num_turns: 1 }],
    [4, { total_cost_usd: 0.1 }],
    [4, { session_id: 'old' }],
  ]
  for (const [at, change] of wrong) {
    const messages = CLEARED.with(at, { ...CLEARED[at], ...change })
    assert.notEqual(whyNotCleared(messages, introduced()), undefined, JSON.stringify(change))
  }
})

test('a process that says anything else while it clears its conversation is not used', () => {
  const other = fc.constantFrom<Record<string, unknown>>(
    { type: 'assistant', message: {} },
    { type: 'user', message: {} },
    { type: 'system', subtype: 'task_started' },
    { type: 'rate_limit_event' },
    CLEARED[1] ?? {},
  )
  fc.assert(
    fc.property(other, fc.nat({ max: CLEARED.length }), (message, at) => {
      assert.notEqual(whyNotCleared(CLEARED.toSpliced(at, 0, message), introduced()), undefined)
    }),
  )
})

const OPEN: OpenSession = {
  ...{
    id: 's-000001',
    cwd: '/p',
    prompt: 'go',
    marker: 'm',
    isolation: 'auto',
    model: 'haiku',
    settingSources: ['user'],
  },
  ...{ env: { HOME: '/h', PCC_ITERATION: '1', PCC_TOTAL: '3' }, asks: asking(() => DENY), ownTools: ['log'] },
}

test('a session may differ from the one before in its own things, and in nothing that is fixed when a process starts', () => {
  const own: Partial<OpenSession>[] = [
    ...[
      { id: 's-000002' },
      { prompt: 'other' },
      { asks: asking(() => DENY) },
      { mayBegin: () => true },
      { record: '/r' },
    ],
    ...[{ model: 'sonnet' }, { followCost: true }, { allowedTools: ['Bash'] }, { maxTurns: undefined }],
    { env: { ...OPEN.env, PCC_ITERATION: '2', PCC_TOTAL: '4' } },
  ]
  const fixed: Partial<OpenSession>[] = [
    ...[{ cwd: '/q' }, { marker: 'n' }, { isolation: 'marker' as const }, { model: undefined }, { prompt: undefined }],
    ...[{ settingSources: [] }, { ownTools: [] }, { tools: ['Read'] }, { disallowedTools: ['Bash'] }, { maxTurns: 3 }],
    ...[{ strictMcp: true }, { hooksOff: true }, { readsOnly: true }, { resume: { vendorId: 'v', fork: false } }],
    ...[{ sandbox: { mode: 'required', network: [], read: [], write: [], hidden: [] } as OpenSession['sandbox'] }],
    ...[{ env: { ...OPEN.env, HOME: '/other' } }, { env: { ...OPEN.env, NEW: '1' } }, { env: { HOME: '/h' } }],
  ]
  for (const more of own) assert.equal(whyUnlike(OPEN, { ...OPEN, ...more }), undefined, JSON.stringify(more))
  for (const more of fixed) assert.notEqual(whyUnlike(OPEN, { ...OPEN, ...more }), undefined, JSON.stringify(more))
  fc.assert(
    fc.property(fc.subarray(own), fc.subarray(fixed, { minLength: 1, maxLength: 1 }), (ours, [other]) => {
      const next = Object.assign({ ...OPEN }, ...ours) as OpenSession
      assert.equal(whyUnlike(OPEN, next), undefined)
      assert.notEqual(whyUnlike(OPEN, { ...next, ...other }), undefined)
    }),
  )
})

test('a process is not used again after a tool that is not known to leave nothing, nor after anything went wrong', () => {
  const call = (tool: string): SessionEvent => ({ kind: 'tool_request', callId: 'c', tool, input: {} })
  const ended = { kind: 'turn_ended', text: '', turns: 1, durationMs: 0, denials: 0 } as const
  for (const tool of ['Read', 'Write', 'Agent', 'mcp__pcc__log']) assert.equal(doubtAfter(call(tool)), undefined, tool)
  for (const tool of [
    'Bash',
    'CronCreate',
    'EnterPlanMode',
    'EnterWorktree',
    'Skill',
    'WebFetch',
    'Monitor',
    'mcp__other__x',
  ])
    assert.notEqual(doubtAfter(call(tool)), undefined, tool)
  assert.equal(doubtAfter({ ...ended, outcome: 'completed' }), undefined)
  for (const outcome of ['paused', 'parked', 'interrupted', 'capped', 'failed'] as const)
    assert.notEqual(doubtAfter({ ...ended, outcome }), undefined, outcome)
  assert.equal(doubtAfter({ kind: 'limit', status: 'warning' }), undefined)
  assert.notEqual(doubtAfter({ kind: 'limit', status: 'rejected' }), undefined)
  assert.notEqual(doubtAfter({ kind: 'compacting', state: 'started' }), undefined)
  const use = new ProcessUse()
  use.notice(call('Skill'))
  use.notice({ ...ended, outcome: 'completed' })
  assert.equal(use.doubt, 'its task has used Skill', 'a doubt stays')
})

/** A process that answers each `/clear` with these messages, and is silent after them until it is stopped. */
function answering(messages: readonly object[]) {
  const sent: string[] = []
  const stopped = Promise.withResolvers<undefined>()
  let left: object[] = []
  const connection = {
    query: { applyFlagSettings: async () => undefined, setModel: async () => undefined },
    send: (text: string) => {
      sent.push(text)
      left = [...messages]
    },
    read: async () => left.shift() ?? stopped.promise,
    stop: () => stopped.resolve(undefined),
  }
  const use = Object.assign(introduced(), { hasSettingsOf: () => true })
  const agent = {
    alive: true,
    alone: true,
    isInRightSandbox: true,
    marker: { name: 'M', value: 'm' },
    beginTask() {},
    thaw() {},
  }
  return { process: { connection, agent, use } as unknown as ClaudeProcess, sent }
}

test('a conversation that was cleared ahead is cleared once more if its session comes two seconds later', async () => {
  const cleared = { why: Promise.resolve(undefined) }
  const soon = answering(CLEARED)
  assert.equal(await clearConversation(soon.process, OPEN, { ...cleared, begunAt: performance.now() }), undefined)
  assert.deepEqual(soon.sent, [])
  const late = answering(CLEARED)
  const before = { ...cleared, begunAt: performance.now() - 2_000 }
  assert.equal(await clearConversation(late.process, OPEN, before), undefined)
  assert.deepEqual(late.sent, ['/clear'])
  const doubtful = { ...before, why: Promise.resolve('a doubt') }
  assert.equal(await clearConversation(answering(CLEARED).process, OPEN, doubtful), 'a doubt')
})

test('a process that does not clear its conversation in time is not used again', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const silent = answering(CLEARED.slice(0, 2))
  const why = clearConversation(silent.process, OPEN)
  const now = () => Promise.race([why, new Promise(resolve => setImmediate(resolve, 'it waits'))])
  assert.deepEqual([await now(), silent.sent], ['it waits', ['/clear']])
  t.mock.timers.tick(9_999)
  assert.equal(await now(), 'it waits')
  t.mock.timers.tick(1)
  assert.equal(await why, 'it did not clear its conversation in time')
})

test('git that Claude Code starts when it begins a conversation may end a moment after that; what does not end is no reason to wait for long', async t => {
  const slow = answering(CLEARED)
  let looks = 0
  Object.defineProperty(slow.process.agent, 'alone', { get: () => ++looks !== 2 && looks !== 3 })
  assert.equal(await clearConversation(slow.process, OPEN), undefined)
  assert.equal(looks, 4, 'before the clear once, after it until it was alone')
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const left = answering(CLEARED)
  Object.defineProperty(left.process.agent, 'alone', { get: () => false })
  const why = clearConversation(left.process, OPEN)
  const isOver = () => Promise.race([why, new Promise(resolve => setImmediate(resolve, undefined))])
  let waited = 0
  for (; (await isOver()) === undefined && waited < 10_000; waited += 20) t.mock.timers.tick(20)
  assert.deepEqual([await why, waited], ['a process of the task before may still run', 2_000])
})
