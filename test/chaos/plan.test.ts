import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FAULT_KINDS } from '../../scripts/chaos/plan/fault-kinds.ts'
import { planRound, type RoundPlan } from '../../scripts/chaos/plan/plan-round.ts'
import { planPointRound } from '../../scripts/chaos/plan/point-round.ts'
import { ALL_POINTS, isOfWorkspace } from '../../scripts/chaos/plan/points.ts'
import { randomFrom } from '../../scripts/chaos/plan/random.ts'
import { scenarioOf } from '../../scripts/chaos/plan/scenario.ts'
import { parseScenario } from '../../src/simulator/read-scenario.ts'

test('randomness is repeatable: a seed gives the same numbers again, and another seed gives others', () => {
  const numbers = (seed: number) => {
    const random = randomFrom(seed)
    return Array.from({ length: 50 }, () => random.int(1, 1_000))
  }
  assert.deepEqual(numbers(7), numbers(7))
  assert.notDeepEqual(numbers(7), numbers(8))
  const spread = new Set(Array.from({ length: 2_000 }, (_, seed) => randomFrom(seed).int(1, 10)))
  assert.deepEqual(
    [...spread].toSorted((a, b) => a - b),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  )
})

test('a seed determines a round: the same sessions, the same faults, and a scenario that the simulator accepts', () => {
  for (const seed of [1, 42, 77_777]) {
    assert.deepEqual(planRound(seed), planRound(seed))
    const { sessions, faults, run } = planRound(seed)
    assert.ok(sessions.length >= 3 && sessions.length <= 5, `${sessions.length} sessions`)
    assert.ok(faults.length >= 1 && faults.length <= 8, `${faults.length} faults`)
    const { conversations } = parseScenario(scenarioOf(planRound(seed), { loginFile: '/x/logged-in' }), 'round')
    const all = [...sessions, ...(run ? [run] : [])]
    assert.equal(conversations.length, 3 * all.flatMap(({ tasks }) => tasks).length)
  }
  assert.notDeepEqual(planRound(1), planRound(2))
})

test('twenty sessions come in every 25th round', () => {
  assert.deepEqual(
    [24, 25, 26, 50].map(seed => planRound(seed).sessions.length === 20),
    [false, true, false, true],
  )
})

test('five hundred rounds inject every fault, and crash at every named step', () => {
  const plans = Array.from({ length: 500 }, (_, seed) => planRound(seed + 1))
  const kinds = new Set(plans.flatMap(({ faults }) => faults.map(({ kind }) => kind)))
  const isStormy = plans.some(plan => JSON.stringify(plan.sessions).includes('trouble'))
  assert.ok(isStormy)
  assert.deepEqual([...kinds, 'vendor-storm'].toSorted(), FAULT_KINDS.toSorted())
  const points = new Set(plans.flatMap(({ faults }) => faults.flatMap(({ point }) => point?.name ?? [])))
  assert.deepEqual(
    ALL_POINTS.filter(name => !points.has(name)),
    [],
  )
  const ofRuns = plans.filter(({ faults }) => faults.some(({ point }) => point && isOfWorkspace(point.name)))
  assert.ok(ofRuns.length > 50 && ofRuns.every(({ run }) => run), 'whoever is to die at a step of a run has a run')
})

test('in half of the rounds answers come late, in a quarter the daemon is ended meanwhile, and those rounds have a question', () => {
  const plans = Array.from({ length: 400 }, (_, seed) => planRound(seed + 1))
  const late = plans.filter(({ answers }) => answers)
  assert.ok(late.length > 160 && late.length < 240, `${late.length} of 400`)
  const ended = late.filter(({ answers }) => (answers?.restarts ?? 0) > 0)
  assert.ok(ended.length > 70 && ended.length < 130, `${ended.length} of 400`)
  const asks = ({ sessions }: RoundPlan) =>
    sessions.some(({ tasks }) => tasks.some(({ steps }) => steps.some(step => step.do === 'ask')))
  assert.deepEqual(
    late.filter(plan => !asks(plan)).map(({ seed }) => seed),
    [],
  )
})

test('if another agent takes over, only its session has the refused account', () => {
  const plans = Array.from({ length: 400 }, (_, seed) => planRound(seed + 1))
  const handed = plans.filter(({ faults }) => faults.some(({ kind }) => kind === 'failover'))
  assert.ok(handed.length > 20)
  for (const { seed, sessions } of handed) {
    const limited = sessions.filter(({ account }) => account === 'limited')
    assert.equal(limited.length, 1, `seed ${seed}`)
    assert.ok(limited[0]?.tasks[0]?.second, `seed ${seed}`)
  }
})

test('every step has a short round of its own, and a daemon that takes over reaches the steps of recovery', () => {
  for (const name of ALL_POINTS) {
    const { faults, run, sessions } = planPointRound(1, name)
    assert.deepEqual(
      faults.flatMap(({ point }) => point ?? []),
      [{ name, nth: 1 }],
    )
    assert.equal(run !== undefined, isOfWorkspace(name))
    assert.equal(sessions.length > 0, !isOfWorkspace(name))
    assert.equal(
      faults.some(({ kind }) => kind === 'kill-daemon'),
      name.startsWith('recover.'),
    )
  }
})
