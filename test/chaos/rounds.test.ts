import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { thisMachine } from '../../scripts/chaos/faults/machine.ts'
import type { RoundPlan } from '../../scripts/chaos/plan/plan-round.ts'
import { comingBack } from '../../scripts/chaos/plan/run-plan.ts'
import { runRound } from '../../scripts/chaos/round.ts'
import { storyOf } from '../../scripts/chaos/tell.ts'
import { CRASH_POINTS, WORKSPACE_CRASH_POINTS } from '../../src/base/crash-point.ts'
import { tempDir } from '../support/world.ts'

/** The first step of each session; the daemon dies before the next one. */
const first = (token: string) => ({
  token,
  steps: [{ do: 'work' as const, token: `${token}-c1`, ms: 300, leaves: true }],
})

/** One of everything: a queue, a question, a file, a limit, and a daemon that dies when the first session starts to work. */
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
  // At a step and not at a time, because a busy machine may not have started by then.
  faults: [{ kind: 'crash-point', atMs: 0, forMs: 0, session: 0, point: { name: 'tool.after-verdict', nth: 1 } }],
}

test('a daemon that dies in the middle of everything loses nothing, and a round passes every step that has a name', async t => {
  const { violations, history } = await round(t, EVERYTHING)
  assert.deepEqual(violations, [], storyOf(history))
  assert.equal(history.deaths.length, 2, 'died once, ended once')
  assert.deepEqual(history.died, ['tool.after-verdict'])
  assert.equal(history.outlived.length, history.deaths.length, 'at each death it was measured who lived on')
  assert.deepEqual(
    CRASH_POINTS.filter(name => !history.passed.includes(name)),
    [],
  )
})

test('a daemon that dies at a step, whose clock jumps by an hour, and whose agent is killed, still ends every task once', async t => {
  const work = (name: string) => ({
    name,
    account: 'shared' as const,
    record: false,
    tasks: [{ token: `${name}-t1`, steps: [{ do: 'work' as const, token: `${name}-t1-c1`, ms: 300, leaves: true }] }],
  })
  const faults: RoundPlan['faults'] = [
    { kind: 'crash-point', atMs: 0, forMs: 0, session: 0, point: { name: 'settle.before-commit', nth: 1 } },
    { kind: 'clock-jump', atMs: 1_500, forMs: 1_000, session: 0 },
    { kind: 'kill-agent', atMs: 3_500, forMs: 0, session: 1 },
  ]
  const { violations, history } = await round(t, { seed: 2, sessions: [work('s1'), work('s2')], faults })
  assert.deepEqual(violations, [], storyOf(history))
  assert.deepEqual(history.died, ['settle.before-commit'])
  const clock = history.faults.find(({ kind }) => kind === 'clock-jump')
  assert.ok(clock?.hit, 'libfaketime is installed by .ci/run')
})

test('a daemon that dies while it moves a branch lands every task of a run once, one that was sent back too, and the checkout is as its branch says', async t => {
  // While two work, the third has a slot already: the fourth works in the slot of one of the others.
  const tasks = ['run-t1', 'run-t2', 'run-t3', 'run-t4'].map(token =>
    comingBack({ token, steps: [{ do: 'write', token: `${token}-c1` }] }),
  )
  const plan: RoundPlan = {
    seed: 3,
    sessions: [],
    run: { name: 'run', account: 'shared', record: false, tasks, parallel: 2 },
    faults: [{ kind: 'crash-point', atMs: 0, forMs: 0, session: 0, point: { name: 'merge.before-index', nth: 1 } }],
  }
  const { violations, history } = await round(t, plan)
  assert.deepEqual(violations, [], storyOf(history))
  assert.equal(history.deaths.length, 2, 'died once, ended once')
  // Both may have been tried together, and then no daemon reaches the step after the one at which it died.
  const missed = WORKSPACE_CRASH_POINTS.filter(name => !history.passed.includes(name) && name !== 'merge.after-ref')
  assert.deepEqual(missed, [], 'its work was sent back too')
})

function round(t: TestContext, plan: RoundPlan) {
  return runRound(plan, { machine: thisMachine(), agentHome: tempDir(t) })
}
