import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openGuard } from '../../../src/base/process/guardian.ts'
import type { Worktree } from '../../../src/domain/worktree.ts'
import { readCommandCaps } from '../../../src/workspace/command/command-caps.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { asideOf, noteFileOf } from '../../../src/workspace/worktrees/worktree-note.ts'
import { gitProject, tempDir } from '../../support/world.ts'
import {
  folderInMemory,
  openWorktreeFixture,
  type WorktreeFixture,
  write,
  writeThroughMapping,
} from '../worktrees/worktree-fixture.ts'

const RUNNER = 'node_modules/.bin/check'
const guard = openGuard()
const ON_LINUX = { skip: process.platform !== 'linux' && 'only Linux has /dev/shm' }

/** A project whose test command is a program of its dependencies, which fails on a file that holds "wrong". */
async function world(t: TestContext, setup?: string, root?: string) {
  const files = { '.gitignore': 'node_modules\n*.tsbuildinfo\n', 'package.json': '{}\n', 'work.txt': 'right\n' }
  const settings = setup === undefined ? {} : { setup }
  const made = await openWorktreeFixture(t, { files, settings, ...(root !== undefined && { root }) })
  write(made.project, {
    [RUNNER]: '#!/bin/sh\n! grep -q wrong work.txt\n',
    'node_modules/lib/package.json': '{"version":"1.0.0"}\n',
    'node_modules/lib/main.js': 'lib\n',
  })
  chmodSync(join(made.project, RUNNER), 0o755)
  const worktree = await made.make()
  write(worktree.top, { 'work.txt': 'wrong\n' })
  return { made, worktree, look: (round = 1) => runVerify({ made, worktree, round, setup }) }
}

function runVerify(options: {
  made: WorktreeFixture
  worktree: Worktree
  round: number
  setup: string | undefined
  test?: string
}) {
  const { made, worktree, round, setup, test = RUNNER } = options
  const { store, clock, log, env } = made.deps
  return verify(
    {
      ...{
        worktree,
        directory: worktree.directory,
        plan: [],
        openChildren: 0,
        round,
        signal: new AbortController().signal,
      },
      dependencies: { project: made.project, setup, setupMs: 60_000 },
      task: { id: 't-1', title: 'Do it', description: '', acceptance: '', attempt: 1 },
      gates: {
        ...{ profile: 'quick', commands: { test }, timeoutMs: 60_000, env: [], rounds: 3, verifier: 'off' },
        ...{
          knownFailures: 'block',
          unproven: 'ask',
          diff: { maxChangedLines: 0, forbiddenPaths: [], allow: [] },
          caps: readCommandCaps(),
        },
      },
    },
    { store, clock, log, env, guard, isolation: 'marker', paths: { run: join(made.project, '..', 'run') } },
  )
}

test('a runner in node_modules/.bin that the agent made pass everything is put back before the gates, and that is evidence', async t => {
  const { worktree, look } = await world(t)
  const runner = join(worktree.top, RUNNER)
  write(worktree.top, { [RUNNER]: '#!/bin/sh\nexit 0\n' })
  utimesSync(runner, 1, 1) // the agent can set the modification time
  const result = await look()
  assert.equal(result.status, 'failed')
  const told = result.checks.find(({ gate }) => gate === 'dependencies')
  assert.match(told?.findings[0]?.text ?? '', /node_modules\/\.bin\/check\. They are as in the project again/)
  assert.match(readFileSync(runner, 'utf8'), /grep/)
  const again = await look(2)
  assert.equal(
    again.checks.some(({ gate }) => gate === 'dependencies'),
    false,
    'what was put back counts as set up',
  )
})

test('a package that is edited, taken away or led elsewhere by a link is as in the project again', async t => {
  const { made, worktree, look } = await world(t)
  write(worktree.top, { 'node_modules/lib/main.js': 'mine\n', 'node_modules/.bin/other': 'x\n' })
  await look()
  assert.equal(readFileSync(join(worktree.top, 'node_modules/lib/main.js'), 'utf8'), 'lib\n')
  assert.equal(existsSync(join(worktree.top, 'node_modules/.bin/other')), false)
  rmSync(join(worktree.top, 'node_modules/lib'), { recursive: true })
  symlinkSync(tempDir(t), join(worktree.top, 'node_modules/lib'))
  await look(2)
  assert.equal(readFileSync(join(worktree.top, 'node_modules/lib/main.js'), 'utf8'), 'lib\n')
  rmSync(join(worktree.top, 'node_modules'), { recursive: true })
  symlinkSync(join(made.project, 'node_modules'), join(worktree.top, 'node_modules'))
  const result = await look(3)
  assert.match(result.findings.map(({ text }) => text).join(), /node_modules was gone/)
  assert.equal(result.status, 'failed')
})

test('a folder that takes the place of a package is not believed, although no file in it has changed', async t => {
  const { made, worktree, look } = await world(t)
  const modules = join(worktree.top, 'node_modules')
  assert.equal((await look()).status, 'failed')
  write(made.project, {
    'node_modules/other/package.json': '{"version":"1.0.0"}\n',
    'node_modules/other/main.js': 'other\n',
  })
  write(worktree.top, {
    'node_modules/other/package.json': '{"version":"1.0.0"}\n',
    'node_modules/other/main.js': 'other\n',
  })
  await look(2)
  for (const [from, to] of [
    ['lib', 'third'],
    ['other', 'lib'],
    ['third', 'other'],
  ] as const)
    renameSync(join(modules, from), join(modules, to))
  const { checks } = await look(3)
  const report = checks.find(({ gate }) => gate === 'dependencies')?.findings[0]?.text ?? ''
  assert.match(report, /node_modules\/lib\/main\.js/)
  assert.equal(readFileSync(join(modules, 'lib/main.js'), 'utf8'), 'lib\n')
  assert.equal(readFileSync(join(modules, 'other/main.js'), 'utf8'), 'other\n')
})

test('the same files installed once more are no finding', async t => {
  const { worktree, look } = await world(t)
  write(worktree.top, { 'node_modules/lib/main.js': 'lib\n', 'node_modules/.cache/x': 'x\n', 'a.tsbuildinfo': '{}' })
  const result = await look()
  assert.equal(
    result.checks.some(({ gate }) => gate === 'dependencies'),
    false,
  )
  assert.equal(existsSync(join(worktree.top, 'a.tsbuildinfo')), false, 'what checkers remember is gone')
  assert.equal(existsSync(join(worktree.top, 'node_modules/.cache')), false)
})

test('work that changes the manifest keeps what it installed, and packages of an unchanged version stay as they were', async t => {
  const { worktree, look } = await world(t)
  write(worktree.top, {
    'package.json': '{"dependencies":{"new":"1.0.0"}}\n',
    'node_modules/new/package.json': '{"version":"1.0.0"}\n',
    'node_modules/lib/main.js': 'mine\n',
    [RUNNER]: '#!/bin/sh\nexit 0\n',
  })
  const result = await look()
  assert.equal(result.status, 'failed')
  assert.equal(existsSync(join(worktree.top, 'node_modules/new/package.json')), true)
  assert.equal(readFileSync(join(worktree.top, 'node_modules/lib/main.js'), 'utf8'), 'lib\n')
})

test('with a set-up command, dependencies that were changed along with the manifest are made anew by it', async t => {
  const { worktree, look } = await world(t, `mkdir -p node_modules/.bin && cp right-runner ${RUNNER} 2>/dev/null; true`)
  write(worktree.top, {
    'package.json': '{"dependencies":{"new":"1.0.0"}}\n',
    'right-runner': '#!/bin/sh\n! grep -q wrong work.txt\n',
    [RUNNER]: '#!/bin/sh\nexit 0\n',
  })
  chmodSync(join(worktree.top, 'right-runner'), 0o755)
  const result = await look()
  assert.equal(result.status, 'failed')
  assert.match(result.findings.map(({ text }) => text).join(), /set up anew\. mkdir/)
})

/** A project in which nothing is installed, and a worktree of it in which the agent has worked. */
async function bareWorld(t: TestContext, files: Record<string, string>, setup?: string, root?: string) {
  const ignored = 'node_modules\n*.pth\n.env\nout\n'
  const made = await openWorktreeFixture(t, {
    files: { '.gitignore': ignored, 'package.json': '{}\n', 'work.txt': 'right\n' },
    settings: setup === undefined ? {} : { setup },
    ...(root !== undefined && { root }),
  })
  const worktree = await made.make()
  write(worktree.top, files)
  if (files[RUNNER]) chmodSync(join(worktree.top, RUNNER), 0o755)
  const look = (test: string, round = 1) => runVerify({ made, worktree, round, setup, test })
  return { top: worktree.top, look }
}

const PASSES = '#!/bin/sh\nexit 0\n'

test('a runner that the agent installed where nothing was installed is not there for the gates, and back afterwards', async t => {
  const { top, look } = await bareWorld(t, { [RUNNER]: PASSES, 'work.txt': 'other\n' })
  const result = await look(RUNNER)
  assert.equal(result.status, 'broken', 'there is no such command')
  assert.match(result.findings.map(({ text }) => text).join(), /not there for the gates: node_modules\./)
  assert.equal(existsSync(join(top, RUNNER)), true, 'the agent goes on with it')
  assert.equal((await look(RUNNER, 2)).status, 'broken', 'what came back is still not believed')
})

test('where the manifest says that something is installed and no command is known, a person has to accept it', async t => {
  const manifest = '{"dependencies":{"new":"1.0.0"}}\n'
  const { look } = await bareWorld(t, { [RUNNER]: PASSES, 'package.json': manifest })
  const result = await look(RUNNER)
  assert.equal(result.status, 'passed')
  assert.deepEqual(
    result.findings.filter(({ weight }) => weight === 'review').map(({ code }) => code),
    ['dependencies.unknown'],
  )
})

test('where a command is known, it installs what the agent had installed', async t => {
  const setup = 'test ! -e packages.txt || { mkdir -p node_modules/.bin && cp packages.txt node_modules/.bin/check; }'
  const runner = '#!/bin/sh\n! grep -q wrong work.txt\n'
  const manifest = '{"dependencies":{"new":"1.0.0"}}\n'
  const files = { [RUNNER]: PASSES, 'package.json': manifest, 'packages.txt': runner, 'work.txt': 'wrong\n' }
  const { top, look } = await bareWorld(t, files, setup)
  chmodSync(join(top, 'packages.txt'), 0o755)
  assert.equal((await look(RUNNER)).status, 'failed')
  assert.equal(readFileSync(join(top, RUNNER), 'utf8'), runner)
})

test('ignored files that the agent made at any depth are not there for the gates; what gates made stays, except packages', async t => {
  const planted = ['test/node_modules/checks/index.js', 'er/x.pth', '.env']
  const { top, look } = await bareWorld(t, {
    ...Object.fromEntries(planted.map(path => [path, 'x\n'])),
    'work.txt': 'b\n',
  })
  const gone = planted.map(path => `test ! -e ${path}`).join(' && ')
  const build = 'mkdir -p out deep/node_modules/late && echo built > out/b && echo x > deep/node_modules/late/index.js'
  // A daemon that died while gates ran has left there what it had set aside.
  write(asideOf(top), { 'z.pth': 'mine\n', 'er/y.pth': 'mine\n' })
  const first = await look(`${gone} && test ! -e z.pth && ${build}`)
  assert.equal(first.status, 'passed', JSON.stringify(first.checks))
  for (const path of ['z.pth', 'er/y.pth']) assert.equal(readFileSync(join(top, path), 'utf8'), 'mine\n', path)
  for (const path of planted) assert.equal(existsSync(join(top, path)), true, path)
  const second = await look(`${gone} && test -e out/b && test ! -e deep/node_modules/late`, 2)
  assert.equal(second.status, 'passed', JSON.stringify(second.checks))
  write(top, { 'out/b': 'forged\n' })
  assert.equal((await look('test ! -e out/b', 3)).status, 'passed', 'the agent has changed it')
})

test('where nothing is left to set up from, nothing is believed and a person is asked', async t => {
  const { made, worktree, look } = await world(t)
  write(worktree.top, { [RUNNER]: '#!/bin/sh\nexit 0\n' })
  rmSync(join(made.project, 'node_modules'), { recursive: true })
  const result = await look()
  assert.equal(result.status, 'broken')
  assert.equal(existsSync(noteFileOf(worktree.top)), true)
  await made.remove(worktree, { archive: true })
  assert.equal(existsSync(noteFileOf(worktree.top)), false)
})

test('code that tools made in node_modules is put back before the gates, and what they made since is not there', async t => {
  const { made, worktree, look } = await toolWorld(t)
  write(worktree.top, {
    'node_modules/.prisma/client.js': 'forged\n',
    'node_modules/.tmp/app.tsbuildinfo': 'forged\n',
    'node_modules/.new/impl.js': 'forged\n',
    'node_modules/.package-lock.json': 'forged\n',
    'work.txt': 'other\n',
  })
  const gone = ['.tmp/app.tsbuildinfo', '.new', '.package-lock.json'].map(name => `test ! -e node_modules/${name}`)
  const result = await look(`${gone.join(' && ')} && grep client node_modules/.prisma/client.js`)
  assert.equal(result.status, 'passed', JSON.stringify(result.checks))
  const texts = result.findings.map(({ text }) => text).join()
  assert.match(texts, /changed.*node_modules\/\.prisma\/client\.js.*as in the project again/)
  assert.equal(existsSync(join(worktree.top, 'node_modules/.new/impl.js')), true, 'the agent goes on with it')
  assert.equal(existsSync(join(made.project, 'node_modules/.new')), false)
})

/** A project with code that a tool has made among its packages, and a worktree with a copy of both. */
async function toolWorld(t: TestContext) {
  const files = { '.gitignore': 'node_modules\n', 'package.json': '{}\n', 'work.txt': 'right\n' }
  const made = await openWorktreeFixture(t, { files })
  write(made.project, {
    'node_modules/.prisma/client.js': 'client\n',
    'node_modules/.package-lock.json': '{}\n',
    'node_modules/lib/main.js': 'lib\n',
  })
  const worktree = await made.make()
  return { made, worktree, look: (test: string) => runVerify({ made, worktree, round: 1, setup: undefined, test }) }
}

test('what git cannot list is not there for the gates, and back afterwards', async t => {
  const made = await openWorktreeFixture(t, { files: { 'src/a.txt': 'a\n' } })
  made.git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},runner`)
  made.git('commit', '-qm', 'with a submodule')
  const worktree = await made.make()
  const { top } = worktree
  rmSync(join(top, '.perpetualcc/task.json'))
  const planted = ['src/.git/impl.js', 'runner/check.sh', '.perpetualcc/task.json/impl.js']
  write(top, { ...Object.fromEntries(planted.map(path => [path, 'x\n'])), 'src/a.txt': 'b\n' })
  mkdirSync(join(top, 'empty/deep'), { recursive: true })
  execFileSync('mkfifo', [join(top, 'src/pipe')])
  const all = [...planted, 'src/pipe', 'empty/deep']
  const look = (test: string) => runVerify({ made, worktree, round: 1, setup: undefined, test })
  const result = await look([...all, 'empty'].map(path => `test ! -e ${path}`).join(' && '))
  assert.equal(result.status, 'passed', JSON.stringify(result.checks))
  for (const path of all) assert.equal(existsSync(join(top, path)), true, path)
})

test('ignored files and folders whose names are not UTF-8 are not there for the gates, and back afterwards', async t => {
  const { top, look } = await bareWorld(t, { 'work.txt': 'b\n' })
  const odd = (name: string) => Buffer.concat([Buffer.from(`${top}/`), Buffer.from(name, 'latin1')])
  writeFileSync(odd('\xff.pth'), 'x\n')
  mkdirSync(odd('\xfe.pth'))
  writeFileSync(odd('\xfe.pth/\xfd'), 'x\n')
  assert.equal((await look('test "$(echo *.pth)" = "*.pth"')).status, 'passed')
  assert.deepEqual([existsSync(odd('\xff.pth')), existsSync(odd('\xfe.pth/\xfd'))], [true, true])
})

test('an odd name within an ignored folder cannot be moved away, so no gate is believed', async t => {
  const { top, look } = await bareWorld(t, { 'work.txt': 'b\n', 'out/b': 'b\n' }, 'mkdir -p out && echo a > out/a')
  writeFileSync(Buffer.concat([Buffer.from(`${top}/out/`), Buffer.of(0xff)]), 'x\n')
  const result = await look('true')
  assert.deepEqual([result.status, result.findings[0]?.code], ['broken', 'dependencies.lost'])
})

test('a submodule that the set-up command filled is filled anew if the agent changed it', async t => {
  const library = gitProject(t, { 'check.sh': 'exit 1\n' })
  const setup = 'git -c protocol.file.allow=always submodule --quiet update --init'
  const made = await openWorktreeFixture(t, { settings: { setup } })
  made.git('submodule', '--quiet', 'add', library, 'runner')
  made.git('commit', '-qm', 'with a submodule')
  const worktree = await made.make()
  assert.equal(readFileSync(join(worktree.top, 'runner/check.sh'), 'utf8'), 'exit 1\n')
  write(worktree.top, { 'runner/check.sh': 'exit 0\n', 'a.txt': 'b\n' })
  const result = await runVerify({ made, worktree, round: 1, setup, test: 'sh runner/check.sh' })
  assert.equal(result.status, 'failed', JSON.stringify(result.checks))
  assert.match(result.findings.map(({ text }) => text).join(), /runner: changed since it was set up, and set up anew/)
})

test('the gates see files as a checkout of the commit has them, whatever git changes as it stores them', async t => {
  const files = { '.gitattributes': '*.sh text\n', 'run.sh': 'exit 0\n', 'code.js': 'one\n' }
  const made = await openWorktreeFixture(t, { files })
  const worktree = await made.make()
  write(worktree.top, {
    '.gitattributes': '*.sh text\n*.js ident\n',
    'run.sh': 'exit 0\r\n',
    'code.js': '/*$Id: */ right() /* $*/ wrong()\n',
  })
  const look = (test: string) => runVerify({ made, worktree, round: 1, setup: undefined, test })
  const result = await look('! grep right code.js && grep wrong code.js && sh run.sh')
  assert.equal(result.status, 'passed', JSON.stringify(result.checks))
  assert.match(
    result.findings.map(({ text }) => text).join(),
    /as a checkout of the commit has them now: code\.js, run\.sh/,
  )
  assert.equal(made.gitIn(worktree.top, 'show', `${result.commit}:code.js`), '/*$Id$*/ wrong()\n')
})

test('what gates that failed have made is not there for the next ones, ignored or not', async t => {
  const { look } = await bareWorld(t, { 'work.txt': 'b\n' })
  assert.equal((await look('mkdir -p out && echo x > out/impl && echo x > impl.js && false')).status, 'failed')
  const second = await look('test ! -e out/impl && test ! -e impl.js', 2)
  assert.equal(second.status, 'passed', JSON.stringify(second.checks))
})

test('in memory, installed files that were changed without a new change time are not believed', ON_LINUX, async t => {
  const { worktree, look } = await world(t, undefined, join(folderInMemory(t), 'worktrees'))
  assert.equal((await look()).status, 'failed')
  const file = join(worktree.top, RUNNER)
  const before = statSync(file).ctimeMs
  writeThroughMapping(file, '#!/bin/sh\nexit 0;\n')
  assert.deepEqual([statSync(file).ctimeMs, readFileSync(file, 'utf8').slice(0, 18)], [before, '#!/bin/sh\nexit 0;\n'])
  const result = await look(2)
  assert.equal(result.status, 'failed', 'the runner is as in the project again')
  assert.match(
    result.findings.map(({ text }) => text).join(),
    /Installed files were changed.*node_modules\/\.bin\/check/,
  )
})

test('in memory, an ignored file of the set-up that was changed so is not there for the gates', ON_LINUX, async t => {
  const root = join(folderInMemory(t), 'worktrees')
  const { top, look } = await bareWorld(t, {}, 'mkdir out && echo good > out/b', root)
  writeThroughMapping(join(top, 'out/b'), 'evil\n')
  assert.equal((await look('! grep -q evil out/b')).status, 'passed')
})
