import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HookInput } from '@anthropic-ai/claude-agent-sdk'
import { checkedAsks } from '../../../src/agents/checked-asks.ts'
import { ClaudeGate } from '../../../src/agents/claude/gate.ts'
import type { Asks } from '../../../src/domain/session.ts'
import { ALLOW, allowing, asking, DENY } from '../conformance/world.ts'

// Cases that a well-behaved agent never causes.

test('before a session has taken the process every call is refused', async () => {
  const gate = new ClaudeGate(1000)
  assert.equal(await decisionOf(gate, call('c-1')), 'deny')
  assert.equal(await mayRun(gate, 'c-1'), undefined)
})

test('a call that was not judged may not run, whatever else allowed it', async () => {
  const gate = gateFor(allowing())
  assert.equal(await mayRun(gate, 'c-unknown'), undefined)
})

test('a verdict is good for one run, and only for the judged input', async () => {
  const gate = gateFor(allowing())
  assert.equal(await decisionOf(gate, call('c-1', { command: 'ls' })), 'ask')
  assert.deepEqual(await mayRun(gate, 'c-1', { command: 'rm -rf /' }), { command: 'ls' })
  assert.equal(await mayRun(gate, 'c-1', { command: 'ls' }), undefined)
})

test('a call of which something is missing is refused', async () => {
  const gate = gateFor(allowing())
  for (const broken of [{ tool_name: '' }, { tool_input: 'ls' }, { tool_use_id: undefined }, { tool_input: null }]) {
    assert.equal(await decisionOf(gate, { ...call('c-1'), ...broken }), 'deny')
  }
})

test('a question that cannot be read is refused, not asked', async () => {
  const asks = allowing()
  const gate = gateFor(asks)
  const question = { ...call('c-1', { questions: [] }), tool_name: 'AskUserQuestion' }
  assert.equal(await decisionOf(gate, question), 'deny')
  assert.equal(asks.questions.length, 0)
})

test('a closed gate refuses what is still being asked', async () => {
  const gate = gateFor(asking(() => new Promise(() => undefined)))
  const decision = decisionOf(gate, call('c-1'))
  gate.close()
  assert.equal(await decision, 'deny')
})

test('each of several open calls gets its own verdict, in whatever order they come', async () => {
  const first = Promise.withResolvers<typeof ALLOW>()
  const gate = gateFor(asking(({ callId }) => (callId === 'c-1' ? first.promise : DENY)))
  const one = decisionOf(gate, call('c-1', { command: 'one' }))
  assert.equal(await decisionOf(gate, call('c-2', { command: 'two' })), 'deny')
  first.resolve(ALLOW)
  assert.equal(await one, 'ask')
  assert.equal(await mayRun(gate, 'c-2'), undefined)
  assert.deepEqual(await mayRun(gate, 'c-1'), { command: 'one' })
})

test('a process that is left to the next session asks nobody until that is bound, and then nothing of the old conversation', async () => {
  const [old, next] = [allowing(), allowing()]
  const gate = gateFor(old)
  assert.equal(await decisionOf(gate, { ...call('c-1'), session_id: 'old' }), 'ask')
  gate.release('old')
  assert.equal(await mayRun(gate, 'c-1'), undefined, 'a verdict goes with its session')
  assert.equal(await decisionOf(gate, { ...call('c-2'), session_id: 'new' }), 'deny')
  bindTo(gate, next)
  assert.equal(await decisionOf(gate, { ...call('c-3'), session_id: 'old' }), 'deny')
  assert.equal(await decisionOf(gate, { ...call('c-4'), session_id: 'new' }), 'ask')
  assert.deepEqual([old.requests.length, next.requests.map(({ callId }) => callId)], [1, ['c-4']])
})

function gateFor(asks: Asks): ClaudeGate {
  const gate = new ClaudeGate(1000)
  bindTo(gate, asks)
  return gate
}

function bindTo(gate: ClaudeGate, asks: Asks): void {
  gate.bind({
    asks: checkedAsks(asks, 1000),
    called: () => undefined,
    answered: () => undefined,
    gaveUp: () => undefined,
    asked: () => undefined,
  })
}

function call(id: string, input: object = { command: 'ls' }): object {
  return { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_use_id: id, tool_input: input, cwd: '/proj' }
}

/** The hook's answer. The hook has no matcher and a deadline, and blocks when it fails. */
async function decisionOf(gate: ClaudeGate, input: object): Promise<string | undefined> {
  const [matcher] = gate.hooks().PreToolUse ?? []
  assert.equal(matcher?.onFailure, 'block')
  assert.equal(matcher.matcher, undefined)
  assert.ok((matcher.timeout ?? 0) > 1)
  const output = await matcher.hooks[0]?.(input as HookInput, undefined, { signal: new AbortController().signal })
  assert.ok(output && 'hookSpecificOutput' in output && output.hookSpecificOutput?.hookEventName === 'PreToolUse')
  return output.hookSpecificOutput.permissionDecision
}

/** The input that would run, if any. */
async function mayRun(gate: ClaudeGate, toolUseID: string, input: Record<string, unknown> = { command: 'other' }) {
  const { signal } = new AbortController()
  const result = await gate.canUseTool('Bash', input, { signal, toolUseID, requestId: 'r' })
  return result?.behavior === 'allow' ? result.updatedInput : undefined
}
