import assert from 'node:assert/strict'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { nameWorkTree } from '../../../src/workspace/git/checkout-state.ts'
import { findGitFolder } from '../../../src/workspace/git/git-folder.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { openVerifyFixture } from './worktree-fixture.ts'

const CHECK =
  "import assert from 'node:assert/strict'\nimport { test } from 'node:test'\ntest('two', () => { assert.equal(1 + 1, 2) })\n"
const WEAK = "import { test } from 'node:test'\ntest('two', () => { })\n"

for (const mark of ['--assume-unchanged', '--skip-worktree']) {
  test(`a file that is hidden from git with ${mark} is committed like any other`, async t => {
    const work = await openVerifyFixture(t, { 'check.sh': 'exit 1\n', 'a.txt': 'a\n' })
    work.git('update-index', mark, 'check.sh')
    work.write('check.sh', 'exit 0\n')
    work.write('b.txt', 'b\n')
    const result = await verify(work.request({}, { commands: { test: 'sh check.sh' } }), work.deps())
    assert.equal(work.git('show', `${result.commit}:check.sh`), 'exit 0', 'what the gates saw is what is merged')
  })
}

test('another object in the place of what the work began with hides nothing', async t => {
  const work = await openVerifyFixture(t, { 'test/a.test.ts': CHECK })
  const before = work.git('rev-parse', 'HEAD:test/a.test.ts')
  work.write('test/a.test.ts', WEAK)
  work.git('commit', '-qam', 'weaker')
  work.git('replace', '-f', before, work.git('rev-parse', 'HEAD:test/a.test.ts'))
  const result = await verify(work.request({}, { commands: { test: 'true' } }), work.deps())
  assert.equal(result.status, 'failed')
})

test('a worktree that git is told to look for elsewhere is not looked at', async t => {
  const work = await openVerifyFixture(t, { 'check.sh': 'exit 1\n' })
  const other = join(work.worktree.top, '..', 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'check.sh'), 'exit 1\n')
  work.git('config', 'extensions.worktreeConfig', 'true')
  work.git('config', '--worktree', 'core.worktree', other)
  work.write('check.sh', 'exit 0\n')
  const result = await verify(work.request({}, { commands: { test: 'sh check.sh' } }), work.deps())
  assert.notEqual(result.status, 'passed')
})

test('a repository within the work, of which a commit holds nothing, stands in its way', async t => {
  const work = await openVerifyFixture(t)
  work.write('lib/index.js', 'x\n')
  work.git('init', '-q', 'lib')
  work.git('-C', 'lib', 'add', '-A')
  work.git('-C', 'lib', 'commit', '-qm', 'x')
  const result = await verify(work.request({}, { commands: { test: 'cat lib/index.js' } }), work.deps())
  assert.equal(result.status, 'failed', JSON.stringify(result.findings))
})

test('a link out of the tree stands in the way of being done; one within it does not', async t => {
  const work = await openVerifyFixture(t)
  symlinkSync('a.txt', join(work.worktree.top, 'same'))
  const deps = work.deps()
  assert.equal((await verify(work.request({}, { commands: { test: 'true' } }), deps)).status, 'passed')
  mkdirSync(join(work.worktree.top, 'deep'))
  symlinkSync('../../elsewhere', join(work.worktree.top, 'deep', 'out'))
  assert.equal((await verify(work.request({ round: 2 }, { commands: { test: 'true' } }), deps)).status, 'failed')
})

test('work without any change proves nothing', async t => {
  const work = await openVerifyFixture(t)
  const result = await verify(work.request({}, { commands: { test: 'true' } }), work.deps())
  assert.deepEqual([result.status, result.isProven], ['passed', false])
})

test('work without any change is proven by an agent that has read it', async t => {
  const work = await openVerifyFixture(t)
  const judge = async () => ({ status: 'passed' as const, criteria: [], remarks: '', model: null, cost_usd: 0 })
  const result = await verify(work.request({}, { verifier: 'on', commands: { test: 'true' } }), work.deps({ judge }))
  assert.deepEqual([result.status, result.isProven], ['passed', true])
})

test('a file that is hidden and taken away is gone from the commit too', async t => {
  const work = await openVerifyFixture(t, { 'gone.txt': 'x\n', 'a.txt': 'a\n' })
  work.git('update-index', '--skip-worktree', 'gone.txt')
  rmSync(join(work.worktree.top, 'gone.txt'))
  const result = await verify(work.request({}, { commands: { test: 'true' } }), work.deps())
  assert.equal(work.git('ls-tree', '-r', '--name-only', `${result.commit}`), 'a.txt')
})

test('in a project without a worktree the change is looked at too, from what it held when the work began', async t => {
  const work = await openVerifyFixture(t, { 'test/a.test.ts': CHECK })
  const folder = await findGitFolder(work.worktree.top)
  assert.ok(folder)
  const began = await nameWorkTree(folder)
  work.write('test/a.test.ts', WEAK)
  const request = work.request({ worktree: undefined, began }, { commands: { test: 'true' } })
  const result = await verify(request, work.deps())
  assert.equal(result.status, 'failed')
  assert.ok(result.findings.some(({ code }) => code.startsWith('test.')))
  assert.match(work.git('status', '--porcelain'), /M test\/a\.test\.ts/, 'the project is left as it is')
})

test('a source file that the work had git ignore stands in its way; what was ignored before does not', async t => {
  const work = await openVerifyFixture(t, { '.gitignore': 'old.js\n', 'a.txt': 'a\n' })
  work.write('old.js', 'x\n')
  work.write('b.txt', 'b\n')
  const request = work.request({}, { commands: { test: 'cat old.js' } })
  assert.equal((await verify(request, work.deps())).status, 'passed')
  work.write('.gitignore', 'old.js\nbuild/\nsrc/late.js\n')
  work.write('build/made.js', 'x\n')
  work.write('src/late.js', 'x\n')
  const result = await verify({ ...request, round: 2 }, work.deps())
  const blocking = result.findings.filter(({ weight }) => weight === 'block')
  assert.deepEqual(
    blocking.map(({ code, file }) => [code, file]),
    [['diff.ignored', 'src/late.js']],
  )
})

test('in a project without a worktree, tests that passed when the work began must pass', async t => {
  const one = `${CHECK}import { two } from '../two.mjs'\ntest('is two', () => { assert.equal(two, 2) })\n`
  const work = await openVerifyFixture(t, { 'test/a.test.mjs': one, 'two.mjs': 'export const two = 2\n' })
  work.write('new.txt', 'not committed when it began\n')
  const folder = await findGitFolder(work.worktree.top)
  assert.ok(folder)
  const began = await nameWorkTree(folder)
  work.write('two.mjs', 'export const two = 3\n')
  const commands = { test: `${process.execPath} --test --test-reporter=tap` }
  const before = work.git('worktree', 'list')
  const result = await verify(work.request({ worktree: undefined, began }, { commands }), work.deps())
  const regression = result.checks.find(({ kind }) => kind === 'regression')
  assert.deepEqual(
    [regression?.status, regression?.findings.map(({ code }) => code)],
    ['failed', ['regression.broken']],
    JSON.stringify(result.checks),
  )
  assert.equal(work.git('worktree', 'list'), before, 'what was taken out for it is gone')
})
