import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GATE_COMMANDS, GATE_PROFILES } from '../../../src/domain/option-values.ts'
import { PROFILES } from '../../../src/workspace/verify/gate-settings.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { openVerifyFixture } from './worktree-fixture.ts'

test('each profile holds the gates of the one before it, and deep holds every gate', () => {
  for (const [at, profile] of GATE_PROFILES.entries()) {
    const next = PROFILES[GATE_PROFILES[at + 1] ?? profile].commands
    assert.deepEqual(
      PROFILES[profile].commands.filter(gate => !next.includes(gate)),
      [],
      profile,
    )
  }
  assert.deepEqual(PROFILES.deep.commands, GATE_COMMANDS)
})

test('what an agent left uncommitted is committed on its branch, and the gates look at that very tree', async t => {
  const work = await openVerifyFixture(t)
  work.write('new/b.txt', 'b\n')
  work.write('a.txt', 'changed\n')
  work.write('.perpetualcc/task.json', '{}')
  const result = await verify(work.request({}, { commands: { test: 'cat new/b.txt' } }), work.deps())
  assert.equal(result.status, 'passed')
  assert.ok(result.isProven)
  assert.equal(result.commit, work.git('rev-parse', 'pcc/t-1'))
  assert.equal(result.tree, work.git('rev-parse', 'HEAD^{tree}'))
  assert.deepEqual(work.git('ls-tree', '-r', '--name-only', 'HEAD').split('\n'), ['a.txt', 'new/b.txt'])
  assert.equal(work.git('log', '-1', '--format=%s'), 'Do it')
  const rows = await work.store.evidence.latest('t-1')
  const test = rows.find(({ gate }) => gate === 'test')
  assert.deepEqual([test?.status, test?.exit, test?.tree, test?.output], ['passed', 0, result.tree, 'b\n'])
})

test('a command that fails is told with its exit code and what it printed, and the rest runs all the same', async t => {
  const work = await openVerifyFixture(t)
  const commands = { build: 'echo broken things; exit 2', test: 'echo fine' }
  const result = await verify(work.request({}, { commands }), work.deps())
  assert.equal(result.status, 'failed')
  assert.deepEqual(
    result.checks.filter(({ exit }) => exit !== null).map(({ gate, status }) => [gate, status]),
    [
      ['build', 'failed'],
      ['test', 'passed'],
    ],
  )
  assert.match(result.next_steps[0] ?? '', /The command of build .* failed with exit code 2\..*broken things/s)
})

test('an open item of the agent’s plan keeps the task from being done', async t => {
  const work = await openVerifyFixture(t)
  const plan = [
    { text: 'Write it', state: 'done' as const },
    { text: 'Test it', state: 'pending' as const },
  ]
  const result = await verify(work.request({ plan, openChildren: 2 }), work.deps())
  assert.equal(result.status, 'failed')
  assert.deepEqual(result.next_steps, [
    'Your plan still has an item that is pending: Test it',
    '2 parts of the task are not done yet.',
  ])
})

test('without any command nothing is proven', async t => {
  const work = await openVerifyFixture(t)
  const result = await verify(work.request(), work.deps())
  assert.deepEqual([result.status, result.isProven], ['passed', false])
})
