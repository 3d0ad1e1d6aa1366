import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { commandSandboxes } from '../../../src/workspace/command/plan-sandbox.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { waitForNextTick } from '../../../src/workspace/worktrees/dependencies.ts'
import { writeNote } from '../../../src/workspace/worktrees/worktree-note.ts'
import { configWith } from '../../brain/sample.ts'
import { testAsOrdinaryUser } from '../../security/ordinary-user.ts'
import { openVerifyFixture, type VerifyFixture } from './worktree-fixture.ts'

/** What make does: the product is made again if its source is newer. */
const BUILD = '[ build/sum -nt sum.txt ] || cp sum.txt build/sum; grep -q "a + b" build/sum\n'
/** A runner that lists its checks by a pattern passes if it finds none. */
const EACH_CHECK = 'for check in checks/*.sh; do [ -e "$check" ] || continue; sh "$check" || exit 1; done'
const FILES = {
  '.gitignore': 'build\n',
  'sum.txt': 'a + b\n',
  'build.sh': BUILD,
  'checks/sum.sh': "grep -q 'a + b' sum.txt\n",
}
const LONG_AGO = 1_000_000_000

/** A worktree that was set up: what is built of the source is there, and is newer. */
async function openSetUp(t: TestContext): Promise<VerifyFixture> {
  const work = await openVerifyFixture(t, FILES)
  const { top } = work.worktree
  utimesSync(join(top, 'sum.txt'), LONG_AGO, LONG_AGO)
  mkdirSync(join(top, 'build'))
  execFileSync('sh', ['build.sh'], { cwd: top })
  const ready = Date.now()
  await writeNote(top, { ready })
  await waitForNextTick(ready)
  return work
}

/** Gates run in a sandbox, in which nobody may read what its owner may not. */
async function statusOf(work: VerifyFixture, command: string): Promise<string> {
  const { top } = work.worktree
  const home = join(top, '../home/pcc')
  mkdirSync(home, { recursive: true })
  const paths = appPathsFor({ env: { PCC_HOME: home } })
  const sandbox = commandSandboxes(configWith({}), { project: join(top, '../repository'), paths, log: () => undefined })
  return (await verify(work.request({}, { commands: { test: command } }), work.deps({ sandbox }))).status
}

test('a source whose time was set back is built again: nobody can set its change time back', async t => {
  const work = await openSetUp(t)
  const source = join(work.worktree.top, 'sum.txt')
  assert.equal(await statusOf(work, 'sh build.sh'), 'passed')
  assert.equal(statSync(source).mtimeMs, LONG_AGO * 1000, 'what nobody has touched stays as it was')
  work.write('sum.txt', 'a - b\n')
  utimesSync(source, LONG_AGO, LONG_AGO)
  assert.equal(await statusOf(work, 'sh build.sh'), 'failed')
})

test('the same holds for an older file that takes the place of a source', async t => {
  const work = await openSetUp(t)
  writeFileSync(join(work.worktree.top, 'other.txt'), 'a - b\n')
  utimesSync(join(work.worktree.top, 'other.txt'), LONG_AGO, LONG_AGO)
  execFileSync('mv', ['-f', 'other.txt', 'sum.txt'], { cwd: work.worktree.top })
  assert.equal(await statusOf(work, 'sh build.sh'), 'failed')
})

test('what was built stays as old as it is, so that an honest source is not built twice', async t => {
  const work = await openSetUp(t)
  const built = join(work.worktree.top, 'build/sum')
  utimesSync(built, LONG_AGO + 60, LONG_AGO + 60)
  work.write('sum.txt', 'a + b, and c\n')
  assert.equal(await statusOf(work, 'sh build.sh'), 'passed')
  const before = statSync(built).mtimeMs
  assert.equal(await statusOf(work, 'sh build.sh'), 'passed')
  assert.equal(statSync(built).mtimeMs, before)
})

for (const [what, path, mode] of [
  ['folder that nobody can list', 'checks', 0o300],
  ['closed folder', 'checks', 0o000],
  ['file that nobody can read', 'checks/sum.sh', 0o200],
  ['worktree that nobody can list', '.', 0o300],
] as const)
  test(`a ${what} hides no check from the gates`, async t => {
    const work = await openSetUp(t)
    const at = join(work.worktree.top, path)
    work.write('sum.txt', 'a - b\n')
    chmodSync(at, mode)
    assert.equal(await statusOf(work, EACH_CHECK), 'failed')
    assert.equal(readFileSync(join(work.worktree.top, 'checks/sum.sh'), 'utf8'), FILES['checks/sum.sh'])
  })

test('a closed folder that git ignores holds nothing up', async t => {
  const work = await openSetUp(t)
  const { top } = work.worktree
  const closed = join(top, 'build/late/closed')
  mkdirSync(closed, { recursive: true })
  writeFileSync(join(closed, 'a'), 'a')
  chmodSync(closed, 0o000)
  const dependencies = { project: join(top, '../repository'), setup: undefined, setupMs: 60_000 }
  const result = await verify(
    work.request({ dependencies }, { commands: { test: 'test ! -e build/late' } }),
    work.deps(),
  )
  assert.equal(result.status, 'passed')
  assert.ok(existsSync(join(closed, 'a')), 'the agent has it back')
})

test('all of this holds for an ordinary user', async t => {
  const again = await testAsOrdinaryUser(t, 'test/workspace/verify/rights-and-times.test.ts')
  if (!again) return t.diagnostic('this is an ordinary user')
  assert.equal(again.code, 0, again.output)
  assert.match(again.output, /pass 9/)
})
