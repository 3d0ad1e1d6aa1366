import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { openGuard } from '../../src/base/process/guardian.ts'
import { commandSandboxes } from '../../src/workspace/command/plan-sandbox.ts'
import { commandEnvironment, runCommand } from '../../src/workspace/command/run-command.ts'
import { configWith } from '../brain/sample.ts'
import { bareEnv, makeRepository, tempDir } from '../support/world.ts'
import { testAsOrdinaryUser } from './ordinary-user.ts'

const HOOK = '#!/bin/sh\nexit 0\n'

/** A project in a home, and beside it the sign of a program that ran outside of every sandbox. */
function openProject(t: TestContext, files: Record<string, string> = {}) {
  const home = join(tempDir(t), 'me')
  const project = join(home, 'project')
  const sprung = join(home, 'sprung')
  const put = (name: string, text: string, folder = project) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text, { mode: text.startsWith('#!') ? 0o755 : 0o644 })
  }
  for (const [name, text] of Object.entries({ 'a.txt': 'a\n', ...files })) put(name, text)
  makeRepository(project)
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.invalid', ...args], {
      ...{ cwd, env: bareEnv(home), encoding: 'utf8', stdio: 'pipe' },
    })
  const paths = appPathsFor({ env: { PCC_HOME: join(home, '.perpetualcc') } })
  mkdirSync(paths.run, { recursive: true })
  const said: string[] = []
  const run = async (command: string, directory = project, whole = project) => {
    await using sandbox = commandSandboxes(configWith({}), { project: whole, paths, log: line => void said.push(line) })
    const { signal } = new AbortController()
    const env = commandEnvironment(bareEnv(home))
    const { end, exit, output } = await runCommand(
      { command, directory, env, timeoutMs: 60_000, signal },
      { guard: openGuard(), sandbox },
    )
    return { said: `${end} ${exit} ${output}`, exit }
  }
  /** What an agent writes into a hook or a program: outside it leaves the sign, inside it cannot. */
  const evil = `#!/bin/sh\\ntouch ${sprung}\\ncat\\n`
  const plant = (...names: string[]) =>
    names.map(name => `mkdir -p "$(dirname ${name})" 2>&-; printf '${evil}' > ${name}; chmod +x ${name}`).join('; ')
  return {
    ...{ home, project, put, run, said, plant },
    git: (...args: string[]) => git(project, ...args),
    gitIn: git,
    hasRun: () => existsSync(sprung),
  }
}

/** As husky lays them out: a script that git starts reads another one, which runs that of the project. */
const husky = {
  '.husky/_/.gitignore': '*',
  '.husky/_/pre-commit': '#!/bin/sh\n. "$(dirname "$0")/h"\n',
  '.husky/_/h': 'sh -e "$(dirname "$(dirname "$0")")/$(basename "$0")"\n',
  '.husky/pre-commit': 'true\n',
}

/** Where a project keeps its hooks, and the ways to put one's own there. */
const HOOKS: Record<
  string,
  { files?: Record<string, string>; set: (p: ReturnType<typeof openProject>) => unknown; at: string }
> = {
  'a folder of husky, which git ignores': {
    files: husky,
    set: p => p.git('config', 'core.hooksPath', '.husky/_'),
    at: '.husky/_',
  },
  'what the scripts of husky run': {
    files: husky,
    set: p => p.git('config', 'core.hooksPath', '.husky/_'),
    at: '.husky',
  },
  'a part of the folder of an older husky': {
    files: {
      '.husky/pre-commit': '#!/bin/sh\n. "$(dirname -- "$0")/_/pre-commit"\n',
      '.husky/_/.gitignore': '*',
      '.husky/_/pre-commit': HOOK,
    },
    set: p => p.git('config', 'core.hooksPath', '.husky'),
    at: '.husky/_',
  },
  'a folder that is not there yet': {
    set: p => p.git('config', 'core.hooksPath', 'tools/git/hooks'),
    at: 'tools/git/hooks',
  },
  'a folder that the person’s own settings name': {
    set: p => p.put('.gitconfig', '[core]\n\thooksPath = .githooks\n', p.home),
    at: '.githooks',
  },
  'a folder below ~': {
    set: p => p.put('.gitconfig', '[core]\n\thooksPath = ~/project/.githooks\n', p.home),
    at: '.githooks',
  },
  'a folder that an included file names': {
    set: p => {
      p.put('more', '[core]\n\thooksPath = .githooks\n', p.home)
      p.git('config', 'include.path', join(p.home, 'more'))
      p.put('.gitconfig', '[include]\n\tpath = more\n', p.home)
    },
    at: '.githooks',
  },
  'a folder that counts on another branch': {
    set: p => {
      p.put('more', '[core]\n\thooksPath = .githooks\n', p.home)
      p.put('.gitconfig', '[includeIf "onbranch:other"]\n\tpath = more\n', p.home)
    },
    at: '.githooks',
  },
  'a folder of the worktree’s own settings': {
    set: p => {
      p.git('config', 'extensions.worktreeConfig', 'true')
      p.git('config', '--worktree', 'core.hooksPath', join(p.project, 'hooks'))
    },
    at: 'hooks',
  },
  'a script that a link among the hooks of git leads to': {
    files: { 'tools/pre-commit': HOOK },
    set: p => symlinkSync('../../tools/pre-commit', join(p.project, '.git/hooks/pre-commit')),
    at: 'tools',
  },
  'a folder in the repository': { set: p => p.git('config', 'core.hooksPath', '.git/mine'), at: '.git/mine' },
}

for (const [name, { files, set, at }] of Object.entries(HOOKS)) {
  test(`the person’s next commit runs no hook that code in the sandbox has put there: ${name}`, async t => {
    const project = openProject(t, files)
    set(project)
    const script = join(at, 'pre-commit')
    await project.run(`git switch -qc other 2>&-; ${project.plant(script)}; mv ${at} ${at}-2; ${project.plant(script)}`)
    project.git('commit', '-q', '--allow-empty', '-m', 'one')
    assert.equal(project.hasRun(), false)
  })
}

test('a link to the folder of hooks is as it was after an agent has replaced it, and the agent is ended', async t => {
  const { project, put, git, run, plant, hasRun } = openProject(t, { 'tools/hooks/pre-commit': HOOK })
  symlinkSync('tools/hooks', join(project, 'hooks'))
  git('config', 'core.hooksPath', 'hooks')
  const ended = await run(`${plant('tools/hooks/pre-commit')}; rm hooks; ${plant('hooks/pre-commit')}; sleep 30`)
  assert.match(ended.said, /killed|signal|ended/i)
  git('commit', '-q', '--allow-empty', '-m', 'one')
  assert.equal(hasRun(), false)
  assert.equal(readlinkSync(join(project, 'hooks')), 'tools/hooks')
  put('b.txt', 'b')
  assert.match((await run('cat b.txt')).said, /b$/, 'the next one begins')
})

test('hooks of submodules, and those in a repository that its checkout only names, are closed too', async t => {
  const { home, project, git, gitIn, run, plant, hasRun } = openProject(t, husky)
  const inner = join(home, 'inner')
  mkdirSync(inner)
  makeRepository(inner)
  git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'libs/sub')
  const sub = join(project, 'libs/sub')
  gitIn(sub, 'config', 'core.hooksPath', '.husky/_')
  await run(plant('libs/sub/.husky/_/pre-commit'))
  gitIn(sub, 'commit', '-q', '--allow-empty', '-m', 'one')
  assert.equal(hasRun(), false)
  // In a folder of the project, and where the submodule itself is the project.
  for (const whole of [project, sub]) {
    await run(plant('.husky/_/pre-commit'), sub, whole)
    gitIn(sub, 'commit', '-q', '--allow-empty', '-m', 'more')
    assert.equal(hasRun(), false)
  }
})

test('hooks in a part of the project are closed for a command that runs in that part', async t => {
  const { project, git, run, plant, hasRun } = openProject(t, { 'web/.husky/_/pre-commit': HOOK, 'web/a.txt': 'a' })
  git('config', 'core.hooksPath', 'web/.husky/_')
  const { exit } = await run(`${plant('.husky/_/pre-commit')}; echo b > a.txt`, join(project, 'web'))
  assert.equal(exit, 0)
  git('commit', '-q', '--allow-empty', '-m', 'one')
  assert.equal(hasRun(), false)
})

/** Settings that name a file of the project, and what of the person's would run it. */
const PROGRAMS: Record<string, { set: Record<string, string>; run: string[] }> = {
  'a monitor of files': { set: { 'core.fsmonitor': './tools/x.sh' }, run: ['status'] },
  'a filter': { set: { 'filter.x.clean': 'sh tools/x.sh %f' }, run: ['add', 'b.dat'] },
  'a textconv behind a substitution': {
    set: { 'diff.x.textconv': '"$(git rev-parse --show-toplevel)"/tools/x.sh' },
    run: ['diff', 'HEAD~1'],
  },
  'an alias': { set: { 'alias.look': '!tools/x.sh' }, run: ['look'] },
}

for (const [name, { set, run: persons }] of Object.entries(PROGRAMS)) {
  test(`a file of the project that settings of git name as a program is the person’s: ${name}`, async t => {
    const files = { 'tools/x.sh': '#!/bin/sh\ncat\n', '.gitattributes': '*.dat filter=x diff=x\n', 'a.dat': 'a\n' }
    const { put, git, run, plant, hasRun } = openProject(t, files)
    for (const [key, value] of Object.entries(set)) git('config', key, value)
    put('a.dat', 'changed\n')
    git('commit', '-qam', 'changed')
    put('b.dat', 'b\n')
    await run(`mv tools tools-2; rm -f tools/x.sh; ${plant('tools/x.sh')}`)
    git(...persons)
    assert.equal(hasRun(), false)
  })
}

/** What the two kinds of husky do when dependencies are installed: an older one writes first, a newer one asks for the setting and gives up without it. */
const OLDER = `fs.mkdirSync('.husky/_', { recursive: true }); fs.writeFileSync('.husky/_/.gitignore', '*'); fs.copyFileSync('a.txt', '.husky/_/husky.sh')
  git('.husky')`
const NEWER = `if (git('.husky/_')) process.exit(0)
  fs.mkdirSync('.husky/_', { recursive: true }); fs.writeFileSync('.husky/_/h', '')`

for (const [name, { install, at }] of Object.entries({
  'an older one': { install: OLDER, at: '.husky' },
  'a newer one': { install: NEWER, at: '.husky/_' },
}))
  test(`inside, hooks of husky run, and npm install with its script succeeds and changes nothing outside: ${name}`, async t => {
    const script = `const fs = require('fs')
      const git = path => require('child_process').spawnSync('git', ['config', 'core.hooksPath', path], { stdio: 'inherit' }).status
      ${install}`
    const files = { ...husky, 'package.json': '{"scripts":{"prepare":"node install.js"}}', 'install.js': script }
    const { project, git, run } = openProject(t, files)
    git('config', 'core.hooksPath', at)
    writeFileSync(join(project, '.husky/pre-commit'), '#!/bin/sh\necho it ran > ran\n', { mode: 0o755 })
    chmodSync(join(project, '.husky/pre-commit'), 0o755)
    const list = () =>
      readdirSync(join(project, '.husky/_')).map(file => [file, readFileSync(join(project, '.husky/_', file), 'utf8')])
    const before = list()
    const commit = 'git -c user.name=a -c user.email=a@b.invalid commit -q --allow-empty -m x'
    const { said, exit } = await run(`npm install --offline --no-audit --no-fund && ${commit} && cat ran`)
    assert.equal(exit, 0, said)
    assert.match(said, /it ran/)
    assert.deepEqual(list(), before)
  })

test('in a worktree an agent changes its hooks, and installed folders and other files of a main checkout stay writable', async t => {
  const { home, project, git, run } = openProject(t, {
    '.githooks/pre-commit': HOOK,
    'node_modules/.bin/x': HOOK,
    'package.json': '{}',
  })
  git('config', 'core.hooksPath', '.githooks')
  git('config', 'filter.x.clean', 'node_modules/.bin/x %f; cat package.json')
  const tree = join(home, 'trees/one')
  git('worktree', 'add', '-q', tree, '-b', 'pcc/one')
  assert.equal((await run('echo more >> .githooks/pre-commit', tree)).exit, 0)
  assert.match(readFileSync(join(tree, '.githooks/pre-commit'), 'utf8'), /more/)
  const { said, exit } = await run(
    'rm -rf node_modules && echo new > b.txt && echo > package.json && echo more >> .githooks/pre-commit',
  )
  assert.notEqual(exit, 0)
  assert.match(said, /pre-commit: Read-only file system/)
  assert.ok(existsSync(join(project, 'b.txt')))
})

test('a folder of hooks that is all of the project is refused, with what to do', async t => {
  const { git, run } = openProject(t)
  git('config', 'core.hooksPath', '.')
  assert.match((await run('true')).said, /not_started.*is where git looks for hooks/s)
})

test('the same holds for an ordinary user', async t => {
  const again = await testAsOrdinaryUser(t, 'test/security/planted-programs.test.ts')
  if (!again) return t.diagnostic('this is an ordinary user')
  assert.equal(again.code, 0, again.output)
})
