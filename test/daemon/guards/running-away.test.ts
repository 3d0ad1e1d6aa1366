import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BudgetView } from '../../../src/domain/budget.ts'
import type { EscalationView } from '../../../src/domain/escalation.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'

const turns = (turn: (n: number) => string) => Array.from({ length: 12 }, (_, n) => turn(n)).join('\n')

const SCENARIO = `
conversations:
  - name: circles
    match: go in circles
    turns:
${turns(n => `      - tools: [{ Bash: { command: "cat missing-${n}.txt || true", description: Look } }]`)}
      - text: Never.
  - name: spends
    match: spend
    turns:
${turns(n => `      - { tools: [{ Bash: { command: "echo ${'so '.repeat(n)}", description: Say } }], usage: { input_tokens: 10000, output_tokens: 1000 } }`)}
      - text: Never.
  - name: grows
    match: allocate
    turns:
      - tools: [{ Bash: { command: "head -c 400000000 /dev/zero | tail | sleep 50", description: Grow } }]
      - text: Never.
  - name: multiplies
    match: fork
    turns:
      - tools: [{ Bash: { command: "${'sleep 50 & '.repeat(120)}wait", description: Multiply } }]
      - text: Never.
`

const isPaused = ({ status }: { status: string }) => status === 'paused'

test('a real agent that circles, overspends, grows or forks is stopped softly, with a reason and a decision for a person', {
  timeout: 120_000,
}, async t => {
  const env = { PCC_BREAKERS_REPEATED_CALLS: '4', PCC_AGENTS_MAX_MEMORY_MB: '480', PCC_AGENTS_MAX_PROCESSES: '60' }
  const { daemon, simulator, start, log } = await agentSessions(t, SCENARIO, { env })
  const [circling, spending, growing, forking] = await Promise.all([
    start('go in circles'),
    start('spend', { budget: { cost_usd: 0.1 } }),
    start('allocate'),
    start('fork'),
  ])
  const reason = async ({ id }: { id: string }) => (await viewWhen(daemon, id, isPaused)).reason ?? ''

  assert.match(await reason(circling), /^It has made the same call 4 times with the same outcome: Bash cat missing/)
  const refused = bodiesOf(await log(circling.id), 'permission.decided').filter(({ by }) => by === 'guard')
  assert.deepEqual(
    refused.map(({ verdict }) => verdict),
    ['deny'],
    'the agent was told once',
  )
  assert.match(refused[0]?.reason ?? '', /Do something else/)

  assert.match(await reason(spending), /^The session's budget of 0\.10 usd is spent \(0\.1\d usd\)/)
  const asked = simulator.requests.filter(({ conversation }) => conversation === 'spends').length
  // On a busy machine the agent may have asked once more before it was stopped.
  assert.ok(asked === 2 || asked === 3, `the cost was known in the middle of the turn: ${asked} requests`)
  const { body } = await daemon.call<BudgetView>('GET', '/budget')
  const own = body.scopes.find(({ scope, key }) => scope === 'session' && key === spending.id)
  assert.equal(own?.limits.cost_usd, 0.1)
  assert.ok((own?.spent.cost_usd ?? 0) >= 0.1)

  assert.match(await reason(growing), /^The agent uses .* of memory with all that it started, 480 MB are allowed/)
  const did = bodiesOf(await log(growing.id), 'guard.tripped').map(each => each.did)
  assert.ok(did.includes('killed'), 'agents.max_memory_mb: the tool that grew was ended')
  const turns = bodiesOf(await log(growing.id), 'turn.ended').map(({ outcome }) => outcome)
  assert.deepEqual(turns, ['paused'], 'the agent itself stopped by itself')

  assert.match(
    await reason(forking),
    /^The agent has (6[1-9]|[7-9]\d|1\d\d) processes with all that it started, 60 are allowed/,
  )
  const ended = bodiesOf(await log(forking.id), 'guard.tripped').map(each => [each.guard, each.did])
  assert.deepEqual(
    ended,
    [['processes', 'killed']],
    'agents.max_processes: the tool that forked was ended, not the agent',
  )

  const open = await daemon.call<{ escalations: EscalationView[] }>('GET', '/escalations?state=open')
  assert.deepEqual(
    open.body.escalations.map(({ session_id }) => session_id).toSorted(),
    [circling.id, spending.id, growing.id, forking.id].toSorted(),
  )
})
