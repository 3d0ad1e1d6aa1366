import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { VerificationResult } from '../../../src/domain/evidence.ts'
import type { Worktree } from '../../../src/domain/worktree.ts'
import { nameWorkTree } from '../../../src/workspace/git/checkout-state.ts'
import { findGitFolder } from '../../../src/workspace/git/git-folder.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { waitForNextTick } from '../../../src/workspace/worktrees/dependencies.ts'
import { noteReady } from '../../../src/workspace/worktrees/set-up-worktree.ts'
import { noteSharedFiles } from '../../../src/workspace/worktrees/worktree-note.ts'
import { gitProject } from '../../support/world.ts'
import { openWorktreeFixture, write } from '../worktrees/worktree-fixture.ts'
import { openVerifyFixture, type VerifyFixture } from './worktree-fixture.ts'

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

/** A worktree that was set up: the set-up has made the folder `made`. In `kept` is what git ignores and holds all the same. */
async function openSetUp(t: TestContext) {
  const work = await openVerifyFixture(t, {
    '.gitignore': 'made\nplanted\nkept\n__pycache__\n',
    'auth/__init__.py': 'good\n',
    'fixtures/stub/a.txt': 'stub\n',
    'a.txt': 'a\n',
  })
  const { top } = work.worktree
  work.write('kept/b.txt', 'kept\n')
  work.git('add', '-f', 'kept')
  work.git('commit', '-qm', 'what git ignores')
  work.write('made/a.txt', 'made\n')
  work.write('made/deep/b.txt', 'made\n')
  await noteSharedFiles({ top, repository: work.git('rev-parse', '--path-format=absolute', '--git-common-dir') }, [])
  await noteReady(top, ['made'])
  const worktree = { ...work.worktree, base: work.git('rev-parse', 'HEAD') }
  const dependencies = { project: join(top, '../repository'), setup: undefined, setupMs: 60_000 }
  const look = (command: string, round = 1) =>
    verify(work.request({ worktree, dependencies, round }, { commands: { test: command } }), work.deps())
  return { work, top, look }
}

/** Lists all that is in a checkout, with what is in the files. */
const LIST = "find . -mindepth 1 -name .git -prune -o -type f -exec cksum '{}' ';' -o -print | LC_ALL=C sort"

type Tamper = (at: Pick<VerifyFixture, 'git' | 'write'> & { in(path: string): string }) => void

const untrack = (git: VerifyFixture['git']) => git('rm', '-r', '-q', '--cached', 'auth')
const TAMPERING: Record<string, Tamper> = {
  'a package that is no longer tracked is ignored, and a module takes its place': ({ git, write }) => {
    untrack(git)
    write('.gitignore', `${IGNORED}auth/\n`)
    write('auth.py', 'bad\n')
  },
  'the list that ignores it lies in the package itself': ({ git, write }) => {
    untrack(git)
    write('auth/.gitignore', '*\n')
  },
  'the list that ignores it is in no commit': ({ git }) => {
    untrack(git)
    appendFileSync(join(git('rev-parse', '--path-format=absolute', '--git-common-dir'), 'info/exclude'), 'auth\n')
  },
  'the package passes for a submodule': ({ git }) => {
    untrack(git)
    git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},auth`)
  },
  'what git ignored and held all the same is no longer tracked': ({ git }) => git('rm', '-q', '--cached', 'kept/b.txt'),
  'a folder of the work is moved to where git ignores it': ({ in: at }) =>
    renameSync(at('fixtures/stub'), at('planted')),
  'a folder of the work is moved into what the set-up made': ({ in: at }) =>
    renameSync(at('fixtures/stub'), at('made/stub')),
  'a folder of the work takes the place of one that the set-up made': ({ in: at }) => {
    renameSync(at('made'), at('planted'))
    renameSync(at('fixtures/stub'), at('made'))
  },
  'what the set-up made is moved to where git ignores it': ({ in: at }) => renameSync(at('made/deep'), at('planted')),
  'a file of the work has a second name': ({ in: at }) => {
    mkdirSync(at('planted'))
    linkSync(at('auth/__init__.py'), at('planted/impl.py'))
  },
  'a link leads to a folder of the work': ({ in: at }) => symlinkSync('fixtures', at('planted')),
  'a folder that is empty now stays': ({ in: at }) => rmSync(at('fixtures/stub/a.txt')),
  'a new file is only announced to git': ({ git, write }) => {
    write('auth.py', 'bad\n')
    git('add', '-N', 'auth.py')
  },
  'a changed file is marked as unchanged': ({ git, write }) => {
    git('update-index', '--assume-unchanged', 'auth/__init__.py')
    write('auth/__init__.py', 'bad\n')
  },
  'the package is left out of the checkout': ({ git, write }) => {
    git('sparse-checkout', 'set', '--no-cone', '/*', '!/auth')
    write('auth.py', 'bad\n')
  },
}
const IGNORED = 'made\nplanted\nkept\n__pycache__\n'

for (const [what, tamper] of Object.entries(TAMPERING))
  test(`the gates see what the commit holds and what the set-up made, and nothing else: ${what}`, async t => {
    const { work, top, look } = await openSetUp(t)
    const made = join(top, '../made')
    cpSync(join(top, 'made'), made, { recursive: true })
    work.write('a.txt', 'b\n')
    tamper({ git: work.git, write: work.write, in: path => join(top, path) })
    const { commit } = await look(`${LIST} > ../seen`)
    const clean = join(top, '../clean')
    work.git('clone', '-q', '--no-checkout', join(top, '../repository'), clean)
    work.git('-C', clean, 'checkout', '-q', `${commit}`)
    const left = readFileSync(join(top, '../seen'), 'utf8')
    // What an agent takes away of the set-up is gone.
    for (const path of ['made/a.txt', 'made/deep/b.txt'])
      if (left.includes(`${path}\n`)) cpSync(join(made, '..', path), join(clean, path), { recursive: true })
    assert.equal(left, execFileSync('sh', ['-c', LIST], { cwd: clean, encoding: 'utf8' }))
  })

test('a file that the work no longer tracks and leaves where it is stands in its way, and is back afterwards', async t => {
  const { work, top, look } = await openSetUp(t)
  untrack(work.git)
  work.write('.gitignore', `${IGNORED}auth/\n`)
  const { status, findings } = await look('test ! -e auth')
  assert.equal(status, 'failed')
  const [blocking, ...others] = findings.filter(({ weight }) => weight === 'block')
  assert.deepEqual([blocking?.code, blocking?.file, others], ['diff.ignored', 'auth/__init__.py', []])
  assert.match(blocking?.text ?? '', /no longer part of the repository.*commit it, or delete it/)
  assert.equal(existsSync(join(top, 'auth/__init__.py')), true)
  rmSync(join(top, 'auth'), { recursive: true })
  assert.equal((await look('test ! -e auth', 2)).status, 'passed')
})

test('what gates that passed have made is not believed where the agent has moved it to', async t => {
  const { work, top, look } = await openSetUp(t)
  work.write('a.txt', 'b\n')
  assert.equal(
    (await look('mkdir -p planted/deep && echo x > planted/deep/impl && echo x > planted/b')).status,
    'passed',
  )
  await waitForNextTick(Date.now())
  renameSync(join(top, 'planted/deep'), join(top, 'made/deeper'))
  const again = await look('test -e planted/b && test ! -e made/deeper && test -e made/deep/b.txt', 2)
  assert.equal(again.status, 'passed', JSON.stringify(again.checks))
})

const RUNNER = 'node_modules/.bin/check'
const RIGHT = '#!/bin/sh\n! grep -q wrong work.txt\n'
const PASSES = '#!/bin/sh\nexit 0\n'

/** A project with an installed runner, and sessions that worked in the project itself. */
async function openInstalled(t: TestContext, inside = '') {
  const at = (path: string) => join(inside, path)
  const files = {
    '.gitignore': 'node_modules\n',
    [at('package.json')]: '{}\n',
    [at('work.txt')]: 'right\n',
    [at('run.sh')]: RUNNER,
  }
  const top = gitProject(t, files)
  const made = await openWorktreeFixture(t, { project: join(top, inside) })
  const { store } = made.deps
  const work = await openVerifyFixture(t)
  const install = (text: string, root = made.project) => {
    rmSync(join(root, RUNNER), { force: true })
    write(root, { [RUNNER]: text })
    chmodSync(join(root, RUNNER), 0o755)
  }
  install(RIGHT)
  return {
    made,
    install,
    workInPlace: (from: number, to: number | null, project = top) =>
      store.sessions.insert({
        ...{ id: 's-1', name: 's-1', project, task: 't', agent: 'claude' },
        ...{ created_at: Date.now() + from, ended_at: to === null ? null : Date.now() + to },
      }),
    async look(worktree: Worktree, round = 1) {
      const dependencies = { project: made.project, setup: undefined, setupMs: 60_000 }
      const request = { worktree, directory: worktree.directory, dependencies, round }
      const wanted = work.request(request, { profile: 'quick', commands: { test: 'sh run.sh' } })
      return verify(wanted, { ...work.deps(), store })
    },
  }
}

const reviewed = ({ findings }: VerificationResult) => findings.filter(({ weight }) => weight === 'review')

for (const inside of ['', 'packages/one'])
  test(`what was installed while an agent worked in the project itself needs a person, in each worktree that gets a copy: ${inside || 'the whole project'}`, async t => {
    const { made, install, workInPlace, look } = await openInstalled(t, inside)
    await workInPlace(-1_000, 0)
    install(PASSES)
    const worktree = await made.make()
    write(worktree.directory, { 'work.txt': 'wrong\n' })
    for (const round of [1, 2]) {
      const [finding] = reviewed(await look(worktree, round))
      assert.equal(finding?.code, 'dependencies.unknown')
      assert.match(finding?.text ?? '', /node_modules is a copy.*while session s-1 worked in the project itself/)
    }
  })

test('what was installed before an agent worked in the project itself, or after that, is believed', async t => {
  const { made, install, workInPlace, look } = await openInstalled(t)
  await workInPlace(-60_000, -30_000)
  install(RIGHT)
  const worktree = await made.make()
  write(worktree.top, { 'work.txt': 'other\n' })
  const result = await look(worktree)
  assert.deepEqual([result.status, result.isProven, reviewed(result)], ['passed', true, []])
})

test('what is compared with the project after it was changed there needs a person, too', async t => {
  const { made, install, workInPlace, look } = await openInstalled(t)
  const worktree = await made.make()
  write(worktree.top, { 'work.txt': 'wrong\n' })
  await workInPlace(0, null)
  for (const root of [made.project, worktree.top]) install(PASSES, root)
  assert.deepEqual(
    reviewed(await look(worktree)).map(({ code }) => code),
    ['dependencies.unknown'],
  )
})

test('a result of dependencies that a person has yet to accept does not count where they are in order', async t => {
  const { made, install, workInPlace, look } = await openInstalled(t)
  const session = await workInPlace(-1_000, 0)
  install(PASSES)
  const first = await made.make()
  const second = await made.make({ task: 't-000002' })
  write(first.top, { 'work.txt': 'wrong\n' })
  assert.equal((await look(first)).status, 'passed')
  await made.deps.store.sessions.update(session.id, { created_at: Date.now() - 60_000, ended_at: Date.now() - 30_000 })
  install(RIGHT)
  const third = await made.make({ task: 't-000003' })
  write(third.top, { 'work.txt': 'wrong\n' })
  assert.equal((await look(third)).status, 'failed')
  assert.equal(reviewed(await look(second)).length, 1, 'a copy of before stays in doubt')
})
