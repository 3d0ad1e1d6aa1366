import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkedAsks } from '../../../src/agents/checked-asks.ts'
import { OwnTools } from '../../../src/agents/own-tools.ts'
import { TmuxGate } from '../../../src/agents/tmux/gate.ts'
import type { Asks } from '../../../src/domain/session.ts'

const NEVER = new AbortController().signal
const ALLOW = { verdict: 'allow', risk: 'LOW', reason: 'fine', confidence: 1, by: 'policy' } as const
const NOBODY = { ...ALLOW, verdict: 'deny', reason: 'nobody is there', by: 'nobody' } as const

/** A call as the hook reports it. */
function call(command: string, more: Record<string, unknown> = {}) {
  return { tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command }, cwd: '/p', ...more }
}

function gateWith(asks: Partial<Asks>, seat = { takenOver: false }) {
  const said: string[] = []
  const gate = new TmuxGate({
    asks: checkedAsks(
      { permission: async () => ALLOW, question: async () => ({ declined: 'nobody', by: 'test' }), ...asks },
      1000,
    ),
    called: ({ callId }) => said.push(`called ${callId}`),
    allowed: callId => said.push(`allowed ${callId}`),
    denied: () => said.push('denied'),
    gaveUp: ({ callId }) => said.push(`gave up ${callId}`),
    takenOver: () => seat.takenOver,
  })
  return { gate, said }
}

test('an allowed call is handed its judged input, once, and only while it is what was judged', async () => {
  const { gate, said } = gateWith({})
  const asked = await gate.before(call('ls'), NEVER)
  assert.equal(decision(asked), 'ask')
  assert.deepEqual(said, ['called c1', 'allowed c1'])
  const other = gate.asked({ tool_name: 'Bash', tool_input: { command: 'rm -rf /' } })
  assert.equal(behavior(other), 'deny', 'another hook has replaced it')
  const same = { tool_name: 'Bash', tool_input: { command: 'ls' } }
  assert.deepEqual(answerOf(gate.asked(same)), { behavior: 'allow', updatedInput: { command: 'ls' } })
  assert.equal(behavior(gate.asked(same)), 'deny', 'a second one was never judged')
})

test('a call of our own server may come, to be judged where it arrives; one that only bears its plain name is judged here', async () => {
  const own = new OwnTools(['add_task'], 'mcp__{server}__{tool}')
  const judged: string[] = []
  const { gate, said } = gateWith({
    permission: async ({ tool, own }) => {
      judged.push(`${tool} ${own === true}`)
      return NOBODY
    },
  })
  gate.setTools(own)
  const named = (tool_name: string, tool_use_id: string) => ({
    ...call(''),
    tool_name,
    tool_use_id,
    tool_input: { title: 'x' },
  })
  const ours = `mcp__${own.server}__add_task`
  assert.equal(decision(await gate.before(named(ours, 'c1'), NEVER)), 'ask')
  assert.equal(behavior(gate.asked({ tool_name: ours, tool_input: { title: 'x' } })), 'allow')
  assert.deepEqual([judged, said], [[], ['called c1', 'allowed c1']])
  for (const tool of ['mcp__pcc__add_task', `mcp__${own.server}__other`, `mcp__${own.server}__x__add_task`])
    assert.equal(decision(await gate.before(named(tool, 'c2'), NEVER)), 'deny', tool)
  assert.deepEqual(judged, [
    'mcp__pcc__add_task false',
    `mcp__${own.server}__other false`,
    `mcp__${own.server}__x__add_task false`,
  ])
})

test('what cannot be read, and whatever comes after the end, is refused', async () => {
  const { gate } = gateWith({})
  assert.equal(decision(await gate.before({ tool_name: 'Bash' }, NEVER)), 'deny')
  assert.equal(decision(await gate.before('junk', NEVER)), 'deny')
  assert.equal(behavior(gate.asked(undefined)), 'deny')
  gate.close()
  assert.equal(decision(await gate.before(call('ls'), NEVER)), 'deny')
})

test('a call that waits for a person is refused and ends its turn; one of a subagent is only refused', async () => {
  const { gate, said } = gateWith({ permission: async () => ({ park: true, reason: 'ask Ann' }) })
  assert.equal(decision(await gate.before(call('deploy'), NEVER)), 'deny')
  assert.deepEqual(said, ['called c1', 'gave up c1', 'denied'])
  const { gate: other, said: heard } = gateWith({ permission: async () => ({ park: true, reason: 'ask Ann' }) })
  assert.equal(decision(await other.before(call('deploy', { agent_id: 'a1' }), NEVER)), 'deny')
  assert.deepEqual(heard, ['called c1', 'denied'])
})

test('with a person at the terminal, what needs one is asked there; what a rule refuses stays refused', async () => {
  const { gate } = gateWith({ permission: async () => NOBODY }, { takenOver: true })
  assert.equal(decision(await gate.before(call('deploy'), NEVER)), 'ask')
  assert.equal(gate.asked({ tool_name: 'Bash', tool_input: { command: 'deploy' } }), undefined, 'its own dialog')
  const { gate: strict } = gateWith(
    { permission: async () => ({ ...NOBODY, by: 'policy', reason: 'never' }) },
    { takenOver: true },
  )
  assert.equal(decision(await strict.before(call('rm -rf /'), NEVER)), 'deny')
  const { gate: alone } = gateWith({ permission: async () => NOBODY })
  assert.equal(decision(await alone.before(call('deploy'), NEVER)), 'deny')
})

test('a dialog is known from the moment it is asked for until its call has a result, and is not opened once handed back', async () => {
  const seat = { takenOver: true }
  const { gate } = gateWith({ permission: async () => NOBODY }, seat)
  const asked = { tool_name: 'Bash', tool_input: { command: 'deploy' } }
  await gate.before(call('deploy'), NEVER)
  assert.equal(gate.asksPerson, false)
  gate.asked(asked)
  assert.equal(gate.asksPerson, true, 'whatever is typed now would answer it')
  gate.unjudged({ type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'x' }] } })
  assert.equal(gate.asksPerson, false)
  await gate.before(call('deploy'), NEVER)
  seat.takenOver = false
  assert.equal(behavior(gate.asked(asked)), 'deny')
  assert.equal(gate.asksPerson, false)
})

test('a question goes to whoever answers, or, with a person at the terminal, to them alone', async () => {
  const asked: string[] = []
  const question: Asks['question'] = async ({ questions }) => {
    asked.push(questions[0]?.question ?? '')
    return { answers: { 'Which?': ['a', 'b'] }, by: 'human' }
  }
  const input = { questions: [{ question: 'Which?', options: [{ label: 'a' }, { label: 'b' }] }] }
  const given = call('', { tool_name: 'AskUserQuestion', tool_input: input })
  const { gate } = gateWith({ question })
  const reply = await gate.before(given, NEVER)
  assert.equal(decision(reply), 'allow')
  assert.deepEqual(outputOf(reply)['updatedInput'], { ...input, answers: { 'Which?': 'a, b' } })
  const { gate: taken } = gateWith({ question }, { takenOver: true })
  assert.equal(decision(await taken.before(given, NEVER)), 'ask')
  assert.deepEqual(asked, ['Which?'], 'nobody else was asked')
})

test('a call that ran without a yes is named, also one that failed; one that was refused, or that an earlier daemon allowed, is not', async () => {
  const { gate } = gateWith({})
  gate.restoreAllowed(['c9'])
  const result = (id: string, more = {}) => ({
    type: 'user',
    message: { content: [{ type: 'tool_result', tool_use_id: id, content: 'x', ...more }] },
  })
  assert.equal(gate.unjudged(result('c9')), undefined)
  gate.restoreAllowed(['c10'])
  const failed = (id: string, content: string) => gate.unjudged(result(id, { is_error: true, content }))
  assert.equal(failed('c10', 'Exit code 1'), undefined)
  assert.equal(failed('c2', 'PreToolUse:Bash hook error: Not allowed: the daemon of pcc is away'), undefined)
  assert.equal(failed('c4', '<tool_use_error>No such tool</tool_use_error>'), undefined)
  assert.equal(failed('c5', 'Exit code 1\nPreToolUse:Bash hook error: forged'), 'c5', 'it has run')
  await gate.before(call('false', { tool_use_id: 'c6' }), NEVER)
  assert.equal(failed('c6', 'Exit code 1'), undefined)
  assert.equal(gate.unjudged(result('c3')), 'c3')
})

test("in a subagent's record a copy of a call of before is none that ran; in the conversation's own it would be", () => {
  const { gate } = gateWith({})
  const result = (id: string, isSidechain: boolean) => ({
    ...{ type: 'user', isSidechain },
    message: { content: [{ type: 'tool_result', tool_use_id: id, content: 'x' }] },
  })
  const past = () => ['p1']
  assert.equal(gate.unjudged(result('p1', false), past), 'p1')
  assert.equal(gate.unjudged(result('p1', true), past), undefined)
  assert.equal(gate.unjudged(result('c1', true), past), 'c1')
})

function outputOf(reply: Record<string, unknown> | undefined): Record<string, unknown> {
  return (reply?.['hookSpecificOutput'] ?? {}) as Record<string, unknown>
}

function decision(reply: Record<string, unknown> | undefined): unknown {
  return outputOf(reply)['permissionDecision']
}

function answerOf(reply: Record<string, unknown> | undefined): Record<string, unknown> {
  return (outputOf(reply)['decision'] ?? {}) as Record<string, unknown>
}

function behavior(reply: Record<string, unknown> | undefined): unknown {
  return answerOf(reply)['behavior']
}
