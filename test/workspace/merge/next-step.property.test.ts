import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MERGE_STATES, type Merge, type MergeState } from '../../../src/domain/merge.ts'
import { type MergeFacts, nextMergeStep } from '../../../src/workspace/merge/merge-state.ts'

const ROW: Merge = {
  ...{ id: 1, task_id: 't-000001', attempt: 1, project: '/p', repository: '/p/.git', branch: 'pcc/t-000001' },
  ...{ target: 'main', strategy: 'rebase', state: 'queued', reason: null, base: null, head: 'H', result: null },
  ...{ batch: null, as_pull_request: 0, rounds: 0, cleaned_at: null, created_at: 1, updated_at: 1 },
}

/** A model of git and the store, as far as a merge depends on them. */
interface World {
  row: Merge
  /** How often others moved the target: a rebase is valid for one of these positions only. */
  moves: number
  /** The commits of this work that the target holds. */
  held: Set<string>
  tip: string
  isStale: boolean
  landed: number
  byHand: boolean
}

const stateOf = (world: World, state: MergeState, more: Partial<Merge> = {}) => {
  world.row = { ...world.row, state, ...more }
}

const factsIn = ({ row, held, tip, isStale }: World): MergeFacts => ({
  ...{ isStale, target: 'T', tip },
  hasHead: row.head !== null && held.has(row.head),
  hasResult: row.result !== null && held.has(row.result),
})

/** What the driver of the queue does, one write at a time: it may die before each. */
function* drive(world: World): Generator<void> {
  const step = nextMergeStep(world.row, factsIn(world))
  if (step.kind === 'finish') {
    yield
    stateOf(world, 'merged', { result: step.result })
    world.landed += 1
  } else if (step.kind === 'restore') {
    yield
    world.tip = 'H'
    yield
    stateOf(world, 'queued', { result: null })
  } else if (step.kind === 'refuse') stateOf(world, 'aborted')
  else if (step.kind === 'give_up') stateOf(world, 'failed')
  else if (step.kind === 'attempt') yield* attempt(world)
}

function* attempt(world: World): Generator<void> {
  const onto = world.moves
  const result = `R${onto}`
  stateOf(world, 'rebasing', { result: null })
  yield
  world.tip = result
  yield
  stateOf(world, 'verifying', { result })
  yield
  if (world.isStale) return stateOf(world, 'aborted')
  stateOf(world, 'landing')
  yield
  if (world.moves !== onto) return stateOf(world, 'queued')
  // If a person merged it by hand in another form, a rebase leaves nothing of it.
  assert.ok(world.held.size === 0 || world.byHand, 'it was put there twice')
  world.held.add(result)
  yield
  stateOf(world, 'merged')
  world.landed += 1
}

const EVENTS = ['go', 'go', 'go', 'go', 'die', 'target moves', 'merged by hand', 'newer attempt'] as const

test('whatever dies and whoever comes in between, work lands at most once, and what is in the target is never forgotten', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 60 }), events => {
      const world: World = { row: ROW, moves: 0, held: new Set(), tip: 'H', isStale: false, landed: 0, byHand: false }
      let running = drive(world)
      for (const event of events) {
        if (event === 'die') running = drive(world)
        else if (event === 'target moves') world.moves += 1
        else if (event === 'merged by hand') {
          world.held.add(world.tip)
          world.moves += 1
          world.byHand = true
        } else if (event === 'newer attempt') world.isStale = true
        else if (running.next().done) running = drive(world)
        assert.ok(world.landed <= 1, 'it landed twice')
        if (world.row.state === 'aborted') assert.equal(world.landed, 0, 'a stale attempt was said to have landed')
      }
      for (let turns = 0; turns < 40; turns += 1) if (running.next().done) running = drive(world)
      const isOver = ['merged', 'aborted', 'failed'].includes(world.row.state)
      assert.ok(isOver, `it stands still as ${world.row.state}`)
      if (world.row.state === 'merged') assert.ok(world.held.size > 0, 'it is said to be where it is not')
      if (!world.isStale) assert.equal(world.landed, 1, 'it never landed')
    }),
    { numRuns: 2_000 },
  )
})

test('rows that are with somebody else, or over, are left alone whatever git says', () => {
  const facts = fc.record({
    ...{ isStale: fc.boolean(), hasHead: fc.boolean(), hasResult: fc.boolean() },
    target: fc.constantFrom('T', null),
    tip: fc.constantFrom('H', 'X', null),
  })
  const ours: MergeState[] = ['queued', 'waiting', 'rebasing', 'verifying', 'landing']
  fc.assert(
    fc.property(facts, fc.constantFrom(...MERGE_STATES.filter(state => !ours.includes(state))), (known, state) => {
      assert.deepEqual(nextMergeStep({ ...ROW, state }, known), { kind: 'leave' })
    }),
  )
})
