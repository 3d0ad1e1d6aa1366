import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { accountOf } from '../../../src/domain/account.ts'
import type { AgentChoice } from '../../../src/domain/agent-choice.ts'
import { geminiAgent } from '../../../src/domain/agents/gemini.ts'
import type { SessionEvent } from '../../../src/domain/session.ts'
import { stepForEvent } from '../../../src/supervisor/session/events.ts'
import { nameFromTask, uniqueName } from '../../../src/supervisor/session/start-session.ts'
import { capInput, capText, targetOf } from '../../../src/supervisor/session/tool-call.ts'
import { aLiveSession } from './live-session.ts'

test('a call is stored once, whoever reports it first, and its result carries its name and target', () => {
  const live = aLiveSession()
  const call = { kind: 'tool_request', callId: 'c', tool: 'Write', input: { file_path: '/p/src/a.ts' } } as const
  assert.equal(stepForEvent(call, live).events.length, 1)
  assert.deepEqual(stepForEvent(call, live), { events: [], patch: {} })
  const [finished] = stepForEvent({ kind: 'tool_result', callId: 'c', ok: true, output: 'ok' }, live).events
  assert.deepEqual(finished?.body, { call_id: 'c', tool: 'Write', target: 'src/a.ts', ok: true, output: 'ok' })
})

test('an agent in an untested version is noted once; one in a tested version is not', () => {
  const chosen = { kind: 'gemini', name: 'gemini', command: ['gemini'] } as unknown as AgentChoice
  const started = (version: string, options: object) => {
    const { row } = aLiveSession()
    const live = aLiveSession({ state: 'starting', vendor_id: null, options: { ...row.options, ...options } })
    const event: SessionEvent = {
      ...{ kind: 'started', vendorId: 'v', model: 'm', cwd: '/p', tools: [], resumed: false, version },
    }
    return stepForEvent(event, live).events.flatMap(({ kind, body }) => (kind === 'session.noted' ? [body.text] : []))
  }
  const [told = '', ...more] = started('9.9.9', { chosen })
  assert.match(told, /^Gemini CLI 9\.9\.9: pcc was tested with .* only.*pcc agents doctor/)
  assert.deepEqual(more, [])
  assert.deepEqual(started(geminiAgent.verified[0] ?? '', { chosen }), [])
  assert.deepEqual(started('9.9.9', {}), [], 'Claude Code comes with pcc')
})

test('the activity of a session is its active step, or else its last tool', () => {
  const live = aLiveSession()
  const call = (callId: string) =>
    ({ kind: 'tool_request', callId, tool: 'Bash', input: { command: 'npm test' } }) as const
  assert.equal(stepForEvent(call('1'), live).patch.activity, 'Bash npm test')
  const items = [
    { text: 'one', state: 'done' },
    { text: 'two', state: 'active' },
  ] as const
  const step = stepForEvent({ kind: 'plan', items: [...items] }, live)
  assert.equal(step.patch.activity, 'two')
  live.row = { ...live.row, ...step.patch }
  assert.equal(stepForEvent(call('2'), live).patch.activity, 'two')
})

test('usage replaces the last report and is added to the usage of earlier lives of the session', () => {
  const earlierUsage = { input_tokens: 100, output_tokens: 50, cost_usd: 1, turns: 3 }
  const live = aLiveSession({ turns: 4, context_window: 200_000 }, { earlierUsage })
  const usage = {
    kind: 'usage',
    inputTokens: 10,
    outputTokens: 5,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costUsd: 0.5,
  } as const
  assert.deepEqual(stepForEvent(usage, live).patch, { input_tokens: 110, output_tokens: 55, cost_usd: 1.5 })
  assert.equal(stepForEvent({ ...usage, turns: 1 }, live).patch.turns, 4)
  const ended = { kind: 'turn_ended', outcome: 'completed', text: '', turns: 2, durationMs: 1, denials: 0 } as const
  assert.equal(stepForEvent(ended, live).patch.turns, 5)
})

test('only a warning of the vendor about its windows is stored; a refusal is reported by the turn it ends', () => {
  const live = aLiveSession()
  assert.deepEqual(
    stepForEvent({ kind: 'limit', status: 'rejected', window: 'five_hour', resetsAt: 7 }, live).events,
    [],
  )
  assert.deepEqual(stepForEvent({ kind: 'limit', status: 'allowed' }, live).events, [])
  const [warned] = stepForEvent({ kind: 'limit', status: 'warning', utilization: 0.9 }, live).events
  assert.deepEqual([warned?.kind, warned?.body], ['limit.warned', { utilization: 0.9 }])
})

test('the first start is stored, the start of each later turn is not', () => {
  const live = aLiveSession({ state: 'starting' })
  const started: SessionEvent = { kind: 'started', vendorId: 'v', model: 'm', cwd: '/p', tools: [], resumed: false }
  const step = stepForEvent(started, live)
  assert.deepEqual([step.events.length, step.patch.state], [1, 'running'])
  live.row = { ...live.row, ...step.patch }
  assert.deepEqual(stepForEvent(started, live).events, [])
})

test('long texts are cut and say so, however deeply they are nested', () => {
  assert.equal(capText('short'), 'short')
  assert.match(capText('x'.repeat(30_000)), /\(cut: 10000 more characters\)$/)
  const capped = capInput({ edits: [{ new_string: 'y'.repeat(50_000) }], flag: true })
  assert.ok(JSON.stringify(capped).length < 21_000)
  assert.equal(capped['flag'], true)
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { noNullPrototype: true }), input => {
      assert.deepEqual(capInput(input), input)
    }),
  )
})

test('a target is one line: the file inside the project, the command, the pattern', () => {
  assert.equal(targetOf({ file_path: '/p/src/a.ts' }, '/p'), 'src/a.ts')
  assert.equal(targetOf({ file_path: '/p' }, '/p'), '.')
  assert.equal(targetOf({ file_path: '/elsewhere/a' }, '/p'), '/elsewhere/a')
  assert.equal(targetOf({ command: 'a  -l\n\n  b\n', description: 'd' }, '/p'), 'a -l ⏎ b')
  assert.equal(targetOf({ pattern: '**/*.ts', path: '/p/src' }, '/p'), '**/*.ts in src')
  assert.equal(targetOf({ title: 'Buy paint', description: 'd' }, '/p'), 'Buy paint')
  assert.equal(targetOf({ command: 'x'.repeat(500) }, '/p').length, 200)
  assert.equal(targetOf({ n: 1 }, '/p'), '')
})

test('a name is made of the first words of the task and is always unique and typeable', () => {
  assert.equal(
    nameFromTask('Please add the dark mode to Settings, with tests and docs'),
    'add-dark-mode-settings-tests',
  )
  assert.equal(nameFromTask('Füge Größe hinzu!'), 'fuge-große-hinzu')
  assert.equal(nameFromTask('!!!'), 'session')
  fc.assert(
    fc.property(fc.string(), fc.array(fc.string()), (task, others) => {
      const name = nameFromTask(task)
      assert.match(name, /^[\p{L}\p{N}-]{1,32}$/u)
      const taken = new Set([...others, name, `${name}-2`])
      assert.equal(taken.has(uniqueName(name, taken)), false)
    }),
  )
})

test('an account is the same for the same credential and does not reveal it', () => {
  const env = { HOME: '/h', ANTHROPIC_API_KEY: 'sk-ant-1' }
  const of = (kind: string) => ({ kind, name: kind })
  const account = accountOf(of('claude'), env)
  assert.match(account, /^[0-9a-f]{16}$/)
  assert.equal(accountOf(of('claude'), { ...env, PATH: '/bin' }), account)
  const others = [
    accountOf(of('codex'), env),
    accountOf(of('claude'), { ...env, ANTHROPIC_API_KEY: 'sk-ant-2' }),
    accountOf(of('claude'), { ...env, ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' }),
    accountOf(of('claude'), { HOME: '/h' }),
    accountOf(of('claude'), { HOME: '/other' }),
  ]
  assert.equal(new Set([account, ...others]).size, 6)
})
