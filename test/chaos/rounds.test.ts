import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Machine } from '../../scripts/chaos/faults/machine.ts'
import type { RoundPlan } from '../../scripts/chaos/plan/plan-round.ts'
import { comingBack } from '../../scripts/chaos/plan/run-plan.ts'
import { runRound } from '../../scripts/chaos/round.ts'
import { storyOf } from '../../scripts/chaos/tell.ts'
import { CRASH_POINTS, WORKSPACE_CRASH_POINTS } from '../../src/base/crash-point.ts'
import { tempDir } from '../support/world.ts'

/** The machine's own clock and disk, as they are. */
const MACHINE: Machine = {
  notRun: [],
  clockFor: () => ({ env: {}, agentPath: undefined, move: undefined, [Symbol.dispose]: () => undefined }),
  diskFor: () => ({ [Symbol.dispose]: () => undefined }),
}

/** What each begins with: the daemon dies before what follows it. */
const first = (token: string) => ({
  token,
  steps: [{ do: 'work' as const, token: `${token}-c1`, ms: 300, leaves: true }],
})

/** One of everything: a queue, a question, a file, a limit, and a daemon that dies when the first begins to work. */
const EVERYTHING: RoundPlan = {
  seed: 1,
  sessions: [
    {
      name: 's1',
      account: 'shared',
      record: false,
      tasks: [
        first('s1-t1'),
        {
          token: 's1-t2',
          steps: [
            { do: 'ask', token: 's1-t2-c1' },
            { do: 'write', token: 's1-t2-c2' },
          ],
        },
      ],
    },
    {
      name: 's2',
      account: 'limited',
      record: true,
      tasks: [first('s2-t1'), { token: 's2-t2', steps: [{ do: 'limit', token: 's2-t2-limit' }] }],
    },
  ],
  // At a step and not at a time: a busy machine may not have begun by then.
  faults: [{ kind: 'crash-point', atMs: 0, forMs: 0, session: 0, point: { name: 'tool.after-verdict', nth: 1 } }],
}

test('a daemon that dies in the middle of everything loses nothing, and a round passes every step that has a name', async t => {
  const passedFile = join(tempDir(t), 'passed')
  const { violations, history } = await round(t, EVERYTHING, passedFile)
  assert.deepEqual(violations, [], storyOf(history))
  assert.equal(history.deaths.length, 2, 'died once, ended once')
  const passed = new Set(readFileSync(passedFile, 'utf8').split('\n'))
  assert.deepEqual(
    CRASH_POINTS.filter(name => !passed.has(name)),
    [],
  )
})

test('a daemon that dies at a step, and whose agent is killed later, still ends every task once', async t => {
  const work = (name: string) => ({
    name,
    account: 'shared' as const,
    record: false,
    tasks: [{ token: `${name}-t1`, steps: [{ do: 'work' as const, token: `${name}-t1-c1`, ms: 300, leaves: true }] }],
  })
  const faults: RoundPlan['faults'] = [
    { kind: 'crash-point', atMs: 0, forMs: 0, session: 0, point: { name: 'settle.before-commit', nth: 1 } },
    { kind: 'kill-agent', atMs: 3_500, forMs: 0, session: 1 },
  ]
  const { violations, history } = await round(
    t,
    { seed: 2, sessions: [work('s1'), work('s2')], faults },
    join(tempDir(t), 'passed'),
  )
  assert.deepEqual(violations, [], storyOf(history))
  assert.ok(history.deaths.length >= 2, 'it died at the step')
})

test('a daemon that dies while it moves a branch lands every task of a run once, one that was sent back too, and the checkout is as its branch says', async t => {
  const passedFile = join(tempDir(t), 'passed')
  const tasks = ['run-t1', 'run-t2'].map(token => comingBack({ token, steps: [{ do: 'write', token: `${token}-c1` }] }))
  const plan: RoundPlan = {
    seed: 3,
    sessions: [],
    run: { name: 'run', account: 'shared', record: false, tasks, parallel: 2 },
    faults: [{ kind: 'crash-point', atMs: 0, forMs: 0, session: 0, point: { name: 'merge.before-index', nth: 1 } }],
  }
  const { violations, history } = await round(t, plan, passedFile)
  assert.deepEqual(violations, [], storyOf(history))
  assert.equal(history.deaths.length, 2, 'died once, ended once')
  const passed = new Set(readFileSync(passedFile, 'utf8').split('\n'))
  // Both may have been tried together, and then nobody comes to the step behind the one at which it died.
  const missed = WORKSPACE_CRASH_POINTS.filter(name => !passed.has(name) && name !== 'merge.after-ref')
  assert.deepEqual(missed, [], 'its work was sent back too')
})

function round(t: TestContext, plan: RoundPlan, passedFile: string) {
  return runRound(plan, { machine: MACHINE, agentHome: tempDir(t), passedFile })
}
