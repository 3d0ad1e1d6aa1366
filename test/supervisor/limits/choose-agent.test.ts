import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FAULT_NAMES } from '../../../src/domain/limit.ts'
import {
  type AgentFacts,
  type CurrentAgentState,
  chooseNext,
  type FailoverChoice,
} from '../../../src/supervisor/limits/choose-agent.ts'
import { handOverPatch } from '../../../src/supervisor/limits/failover.ts'

const MINUTE = 60_000
const THRESHOLD = 15 * MINUTE
const NAMES = ['claude', 'codex', 'opencode'] as const
type Name = (typeof NAMES)[number]

const facts = (state: CurrentAgentState, order: AgentFacts[], more: object = {}) => ({
  ...{ now: 0, order, current: 'claude', state, changedAt: undefined, thresholdMs: THRESHOLD },
  ...{ on: ['limit', 'outage'], costUsd: undefined, ...more },
})
const open = (name: string): AgentFacts => ({ name, opensAt: 0 })
const long: CurrentAgentState = { why: 'limit', until: 60 * MINUTE }

test('the next of the order that may be used and is free takes the task', () => {
  const shut = { name: 'codex', opensAt: 30 * MINUTE }
  assert.deepEqual(chooseNext(facts(long, [open('claude'), shut, open('opencode')])), {
    ...{ go: 'opencode', cause: 'limit', at: 0 },
  })
  const barred = { ...open('codex'), refused: 'not held' }
  assert.deepEqual(chooseNext(facts(long, [open('claude'), barred])), { stay: 'nobody else can take it now' })
  assert.deepEqual(chooseNext(facts(long, [open('claude'), shut])), {
    ...{ stay: 'nobody else can take it now', lookAt: 30 * MINUTE },
  })
})

test('nobody waits for a login or credit unless limits are left out; a limit just within the threshold is waited for', () => {
  const order = [open('claude'), open('codex')]
  for (const why of FAULT_NAMES) {
    assert.deepEqual(chooseNext(facts({ why }, order)), { go: 'codex', cause: why, at: 0 })
    assert.ok('stay' in chooseNext(facts({ why }, order, { on: ['outage'] })))
  }
  assert.ok('stay' in chooseNext(facts({ why: 'limit', until: THRESHOLD }, order)))
  assert.ok('go' in chooseNext(facts({ why: 'limit', until: THRESHOLD + 1 }, order)))
})

test('a cost hands it on to later agents only, and an agent outside of the order keeps its task', () => {
  const dear: CurrentAgentState = { why: 'cost', spent: 5 }
  const order = [open('claude'), open('codex')]
  assert.ok('stay' in chooseNext(facts(dear, order, { current: 'codex', costUsd: 2 })))
  assert.deepEqual(chooseNext(facts(dear, order, { costUsd: 2 })), { go: 'codex', cause: 'cost', at: 0 })
  assert.ok('stay' in chooseNext(facts(long, order, { current: 'gemini' })))
})

interface Model {
  now: number
  row: Parameters<typeof handOverPatch>[0]
  opensAt: Record<Name, number>
  barred: Set<string>
  /** The newest conversation of each agent. */
  talks: Map<string, string>
  left: Map<string, number>
}

const step = fc.oneof(
  fc.record({ do: fc.constant('pass' as const), minutes: fc.integer({ min: 0, max: 40 }) }),
  fc.record({ do: fc.constant('limit' as const), minutes: fc.integer({ min: 1, max: 300 }) }),
  fc.record({ do: fc.constant('outage' as const), tries: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant('bar' as const), name: fc.constantFrom(...NAMES) }),
  fc.record({ do: fc.constantFrom('broken' as const, 'look' as const, 'crash' as const, 'cost' as const) }),
)

test('whatever limits, outages, returns and crashes follow one another: one agent, never to and fro, no conversation lost', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const model = begin()
      for (const [at, one] of steps.entries()) {
        if (one.do === 'pass') model.now += one.minutes * MINUTE
        else if (one.do === 'bar') model.barred.add(one.name)
        // The daemon died: only the row is left.
        else if (one.do === 'crash') model.row = JSON.parse(JSON.stringify(model.row))
        else change(model, stateIn(model, one), `${at}`)
      }
    }),
    { numRuns: 2_000 },
  )
})

function begin(): Model {
  const options = { project: '/p', task: 't', chosen: { kind: 'claude' as const, name: 'claude' } }
  return {
    now: 0,
    row: { agent: 'claude', account: 'a-claude', vendor_id: 'v-0', model: 'opus', options, cost_usd: 0 },
    opensAt: { claude: 0, codex: 0, opencode: 0 },
    barred: new Set(),
    talks: new Map([['claude', 'v-0']]),
    left: new Map(),
  }
}

function stateIn(model: Model, one: { do: string; minutes?: number; tries?: number }): CurrentAgentState {
  const { agent, options, cost_usd } = model.row
  if (one.do === 'limit') {
    model.opensAt[agent as Name] = model.now + (one.minutes ?? 0) * MINUTE
    return { why: 'limit', until: model.opensAt[agent as Name] }
  }
  if (one.do === 'outage') return { why: 'outage', tries: one.tries ?? 1 }
  if (one.do === 'cost') {
    model.row = { ...model.row, cost_usd: cost_usd + 5 }
    return { why: 'cost', spent: cost_usd + 5 - (options.handed?.cost_usd ?? 0) }
  }
  return one.do === 'broken' && options.handed ? { why: 'broken' } : { why: 'works' }
}

function change(model: Model, state: CurrentAgentState, label: string): void {
  const { now, row, opensAt, barred } = model
  const handed = row.options.handed
  const order = NAMES.map(name => ({
    ...{ name, opensAt: opensAt[name], leftAt: handed?.resting.find(({ choice }) => choice.name === name)?.left_at },
    talks: typeof handed?.resting.find(({ choice }) => choice.name === name)?.vendor_id === 'string',
    ...((barred.has(name) || handed?.broken.includes(name)) && { refused: 'no' }),
  }))
  const current = row.agent
  const asked = { now, order, current, state, changedAt: handed?.at, thresholdMs: THRESHOLD }
  const choice: FailoverChoice = chooseNext({ ...asked, on: ['limit', 'outage'], costUsd: 4 })
  if (!('go' in choice)) return
  const { go, cause, at } = choice
  assert.notEqual(go, current, 'it goes to another one')
  assert.ok(!barred.has(go) && !handed?.broken.includes(go), 'never to one that may not be used')
  assert.ok(opensAt[go as Name] <= at, 'never to one whose vendor refuses')
  const leftAt = model.left.get(go)
  assert.ok(leftAt === undefined || at - leftAt >= THRESHOLD, `back to ${go} after ${at - (leftAt ?? 0)} ms`)
  if (state.why === 'limit' && cause !== 'return') assert.ok((state.until ?? 0) - now > THRESHOLD)
  const to = { kind: go as Name, name: go }
  model.row = { ...row, ...handOverPatch(row, { to, account: `a-${go}`, cause, now, until: null }) }
  model.left.set(current, now)
  const resting = model.row.options.handed?.resting ?? []
  const names = resting.map(({ choice: { name } }) => name)
  assert.equal(new Set([...names, go]).size, names.length + 1, 'everybody once: one at work, the others at rest')
  assert.equal(model.row.vendor_id, model.talks.get(go) ?? null, 'whoever is back finds its own conversation')
  if (model.row.vendor_id === null) {
    model.row = { ...model.row, vendor_id: `v-${label}` }
    model.talks.set(go, `v-${label}`)
  }
  for (const [name, talk] of model.talks) {
    const kept = name === go ? model.row.vendor_id : resting.find(each => each.choice.name === name)?.vendor_id
    assert.equal(kept, talk, `the conversation of ${name} is kept`)
  }
  model.now = Math.max(model.now, at)
}
