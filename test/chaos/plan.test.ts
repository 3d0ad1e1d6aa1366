import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FAULT_KINDS } from '../../scripts/chaos/plan/fault-kinds.ts'
import { planRound } from '../../scripts/chaos/plan/plan-round.ts'
import { randomFrom } from '../../scripts/chaos/plan/random.ts'
import { scenarioOf } from '../../scripts/chaos/plan/scenario.ts'
import { CRASH_POINTS, WORKSPACE_CRASH_POINTS } from '../../src/base/crash-point.ts'
import { parseScenario } from '../../src/simulator/scenario/read.ts'

test('chance can be repeated: a seed gives its numbers again, and another seed gives others', () => {
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

test('a seed is a round: the same sessions, the same faults, and a scenario that the simulator takes', () => {
  for (const seed of [1, 42, 77_777]) {
    assert.deepEqual(planRound(seed), planRound(seed))
    const { sessions, faults, run } = planRound(seed)
    assert.ok(sessions.length >= 3 && sessions.length <= 5, `${sessions.length} sessions`)
    assert.ok(faults.length >= 1 && faults.length <= 4, `${faults.length} faults`)
    const { conversations } = parseScenario(scenarioOf(planRound(seed)), 'round')
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

test('five hundred rounds let everything go wrong that can, at every step that has a name', () => {
  const plans = Array.from({ length: 500 }, (_, seed) => planRound(seed + 1))
  const kinds = new Set(plans.flatMap(({ faults }) => faults.map(({ kind }) => kind)))
  const isStormy = plans.some(plan => JSON.stringify(plan.sessions).includes('trouble'))
  assert.ok(isStormy)
  assert.deepEqual([...kinds, 'vendor-storm'].toSorted(), FAULT_KINDS.toSorted())
  const points = new Set(plans.flatMap(({ faults }) => faults.flatMap(({ point }) => point?.name ?? [])))
  assert.deepEqual(
    [...CRASH_POINTS, ...WORKSPACE_CRASH_POINTS].filter(name => !points.has(name)),
    [],
  )
})
