import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { guardGit, openGitSettings } from '../../../src/base/sandbox/git.ts'
import { readBefore } from '../../../src/base/sandbox/planted.ts'
import { readIndexMarks } from '../../../src/workspace/git/checkout-state.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'

test('files that an agent makes large out of nothing in the folder of git are not read here', async t => {
  const top = gitProject(t)
  const own = join(top, '.git')
  writeFileSync(join(own, 'sharedindex.1'), '')
  truncateSync(join(own, 'sharedindex.1'), 300_000_000)
  const before = process.resourceUsage().maxRSS
  assert.deepEqual(readBefore({ top, own, common: own }).submodules, [])
  // Git reads on where the checksum was, and one that begins with a capital letter would pass for an extension of the index.
  const index = readFileSync(join(own, 'index'))
  writeFileSync(join(own, 'index'), index.fill(0, index.length - 20))
  truncateSync(join(own, 'index'), 300_000_000)
  assert.equal(await readIndexMarks(top, own), undefined)
  assert.ok(process.resourceUsage().maxRSS - before < 150_000, 'kilobytes')
})

test('the files of git settings are those that git reads now, whatever has changed since they were asked for', t => {
  const [top, home, elsewhere] = [gitProject(t), tempDir(t), gitProject(t)]
  const git = { top, own: join(top, '.git'), common: join(top, '.git') }
  const env = { HOME: home }
  const read = openGitSettings()
  const set = (...args: string[]) => execFileSync('git', ['config', ...args], { cwd: top, env: bareEnv(home) })
  const changes: Record<string, () => void> = {
    nothing: () => undefined,
    'a setting of the repository': () => set('core.abbrev', '9'),
    'a file of the person': () => writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Ann\n'),
    'another file of the person': () => {
      mkdirSync(join(home, '.config/git'), { recursive: true })
      writeFileSync(join(home, '.config/git/config'), '[core]\n\texcludesFile = /tmp/ignored\n')
    },
    'a file that is included': () => {
      writeFileSync(join(home, 'work'), '[user]\n\temail = ann@example.invalid\n')
      appendFileSync(join(home, '.gitconfig'), `[include]\n\tpath = ${join(home, 'work')}\n`)
    },
    'what the included file includes': () => {
      writeFileSync(join(home, 'more'), '[core]\n\tabbrev = 8\n')
      appendFileSync(join(home, 'work'), `[include]\n\tpath = ${join(home, 'more')}\n`)
    },
    'a file that is included on one branch': () => {
      writeFileSync(join(home, '.gitconfig'), `[includeIf "onbranch:other"]\n\tpath = ${join(home, 'work')}\n`)
    },
    'the branch': () => execFileSync('git', ['checkout', '-qb', 'other'], { cwd: top, env: bareEnv(home) }),
    'settings of the worktree': () => {
      writeFileSync(join(home, '.gitconfig'), '')
      set('extensions.worktreeConfig', 'true')
      set('--worktree', 'core.abbrev', '7')
    },
    'a repository that is another one': () => {
      renameSync(join(top, '.git'), join(home, 'old'))
      writeFileSync(join(top, '.git'), `gitdir: ${join(elsewhere, '.git')}\n`)
    },
    'no repository': () => rmSync(join(top, '.git')),
  }
  for (const [what, change] of Object.entries(changes)) {
    change()
    assert.deepEqual(read(git, env), openGitSettings()(git, env), what)
  }
})

test('settings of a repository show no file that is not its own, and those of the person may be anywhere', t => {
  const [top, home, secret] = [gitProject(t), tempDir(t), join(tempDir(t), 'token')]
  const git = { top, own: join(top, '.git'), common: join(top, '.git') }
  writeFileSync(secret, '[user]\n\tname = a secret\n')
  writeFileSync(join(top, 'shared.gitconfig'), '[user]\n\tname = Ann\n')
  const include = (file: string, path: string) => appendFileSync(file, `[include]\n\tpath = ${path}\n`)
  include(join(top, '.git/config'), secret)
  include(join(top, '.git/config'), '../shared.gitconfig')
  const { files } = openGitSettings()(git, { HOME: home })
  assert.equal(files.includes(secret), false)
  assert.equal(files.includes(join(top, 'shared.gitconfig')), true)
  include(join(home, '.gitconfig'), secret)
  assert.equal(openGitSettings()(git, { HOME: home }).files.includes(secret), true)
})

test('a file of the project that settings include is among them, whatever its name, its condition and the HEAD of the checkout', t => {
  const [top, home] = [gitProject(t), tempDir(t)]
  const git = { top, own: join(top, '.git'), common: join(top, '.git') }
  const named = (name: string) => join(top, name)
  const set = (...args: string[]) => execFileSync('git', ['config', ...args], { cwd: top, env: bareEnv(home) })
  const inProject = () => openGitSettings()(git, { HOME: home }).files.filter(file => !file.includes('/.git/'))
  symlinkSync(top, join(home, 'mine'))
  for (const name of ['one', 'two', 'three', 'four', 'five']) writeFileSync(named(name), '')
  set('include.path', '../one')
  set('includeIf.onbranch:other.path', '~/mine/two')
  writeFileSync(named('two'), '[include]\n\tpath = three\n')
  writeFileSync(join(home, '.gitconfig'), '[include]\n\tpath = "more"\n')
  writeFileSync(join(home, 'more'), `[includeIf "gitdir:${top}/"]\n\tpath = ${named('four')}\n`)
  const all = ['one', 'two', 'three', 'four'].map(named)
  assert.deepEqual(new Set(inProject()), new Set([...all, join(home, '.gitconfig'), join(home, 'more')]))
  writeFileSync(join(top, '.git/HEAD'), 'x\n')
  assert.deepEqual(new Set(inProject()), new Set([...all, join(home, '.gitconfig'), join(home, 'more')]))
  rmSync(named('four'))
  assert.throws(inProject, { code: 'sandbox_include' })
})

test('settings that an agent could have written in a file that git outside has put there are put back, those about branches are not', t => {
  const [top, home] = [gitProject(t), tempDir(t)]
  const git = { top, own: join(top, '.git'), common: join(top, '.git') }
  const config = join(git.own, 'config')
  const before = readFileSync(config, 'utf8')
  const host = (...args: string[]) => execFileSync('git', ['config', ...args], { cwd: top, env: bareEnv(home) })
  const said: string[] = []
  using guard = guardGit(git, { reading: false, log: line => said.push(line) })
  guard.begin([config, join(git.own, 'hooks')], home)
  host('branch.main.description', 'mine')
  guard.check()
  assert.match(`${guard.breached.reason}`, /config was replaced meanwhile/)
  assert.match(readFileSync(config, 'utf8'), /mine/)
  assert.deepEqual(said, [])
  for (const [name, value] of [
    ['core.fsmonitor', 'evil'],
    ['branch.main.remote', 'ext::evil'],
  ] as const) {
    host(name, value)
    guard.check()
    assert.equal(readFileSync(config, 'utf8'), before)
    assert.match(said.pop() ?? '', /config is as it was/)
  }
  rmSync(join(git.own, 'hooks'), { recursive: true })
  mkdirSync(join(git.own, 'hooks'))
  writeFileSync(join(git.own, 'hooks/post-commit'), 'evil')
  guard.check()
  assert.deepEqual(readdirSync(join(git.own, 'hooks')), [])
})

test('a folder of hooks that the person has made anew stays if it is the same, and is set aside if an agent could have written there', t => {
  const [top, home] = [gitProject(t), tempDir(t)]
  const git = { top, own: join(top, '.git'), common: join(top, '.git') }
  const hooks = join(top, '.husky')
  const make = (text: string) => {
    rmSync(hooks, { recursive: true, force: true })
    mkdirSync(join(hooks, '_'), { recursive: true })
    writeFileSync(join(hooks, '_/pre-commit'), text)
  }
  make('mine')
  const said: string[] = []
  using guard = guardGit(git, { reading: false, log: line => said.push(line) })
  guard.begin([hooks], home, [hooks])
  guard.check()
  assert.equal(guard.breached.aborted, false)
  make('mine')
  guard.check()
  assert.match(`${guard.breached.reason}`, /\.husky was replaced meanwhile/)
  assert.equal(readFileSync(join(hooks, '_/pre-commit'), 'utf8'), 'mine')
  assert.deepEqual(said, [])
  make('evil')
  guard.check()
  assert.deepEqual(readdirSync(hooks), [])
  assert.match(said[0] ?? '', /\.husky is empty now\. What it was then is in .*set-aside/)
})

test('a folder of git that is removed meanwhile, or cannot be written, is no failure of the daemon', async t => {
  const [top, scratch] = [gitProject(t), tempDir(t)]
  const git = { top, own: join(top, '.git'), common: join(top, '.git') }
  const [config, hooks] = [join(git.own, 'config'), join(git.own, 'hooks')]
  const said: string[] = []
  const guard = guardGit(git, { reading: false, log: line => said.push(line) })
  guard.begin([config, hooks, join(git.own, 'info')], scratch)
  const whole = readFileSync(config, 'utf8')
  rmSync(hooks, { recursive: true })
  writeFileSync(config, '[core]\n\tfsmonitor = evil\n')
  rmSync(config)
  // Nothing can be made where a file is in the way of its folder.
  renameSync(git.own, join(top, 'moved'))
  writeFileSync(git.own, '')
  guard.check()
  assert.equal(guard.breached.aborted, true)
  assert.equal(said.length, 4, said.join('\n'))
  for (const line of said) assert.match(line, /could not be put back as it was, .*ENOTDIR/)
  guard.check()
  assert.equal(said.length, 4, 'each is said once')
  rmSync(git.own)
  renameSync(join(top, 'moved'), git.own)
  guard[Symbol.dispose]()
  assert.equal(readFileSync(config, 'utf8'), whole, 'what failed is tried again at the end')
  rmSync(git.own, { recursive: true })
  using adopted = guardGit(
    { ...git, own: top, common: git.own },
    { reading: false, log: line => said.push(line), isAdopted: true },
  )
  adopted.goOn(join(scratch, '..'))
  adopted.check()
  assert.equal(said.length, 4)
})

test('git is not asked again while nothing has changed', t => {
  const [top, home, bin] = [gitProject(t), tempDir(t), tempDir(t)]
  const read = openGitSettings()
  const git = { top, own: join(top, '.git'), common: join(top, '.git') }
  const first = read(git, { HOME: home })
  const path = process.env['PATH']
  t.after(() => {
    process.env['PATH'] = path
  })
  writeFileSync(join(bin, 'git'), '#!/bin/sh\nexit 1\n')
  chmodSync(join(bin, 'git'), 0o755)
  process.env['PATH'] = `${bin}:${path}`
  assert.deepEqual(read(git, { HOME: home }), first)
  assert.deepEqual(
    openGitSettings()(git, { HOME: home }).files,
    [],
    'the git of this test is the one that would be asked',
  )
  assert.notDeepEqual(first.files, [])
})

test('a folder without git is looked at again when a repository appears in it or above it', t => {
  const [above, home] = [tempDir(t), tempDir(t)]
  const top = join(above, 'project')
  mkdirSync(top)
  const read = openGitSettings()
  const init = (folder: string) => () => execFileSync('git', ['init', '-q'], { cwd: folder, env: bareEnv(home) })
  assert.deepEqual(read({ top }, { HOME: home }).files, [])
  for (const change of [init(above), init(top)]) {
    change()
    const { files } = read({ top }, { HOME: home })
    assert.equal(files.length, 1)
    assert.deepEqual(files, openGitSettings()({ top }, { HOME: home }).files)
  }
})

test('a daemon that adopts an agent in the main checkout finds settings that were replaced while none ran', t => {
  const [top, scratch] = [gitProject(t), tempDir(t)]
  const git = { top, own: join(top, '.git'), common: join(top, '.git') }
  const config = join(git.own, 'config')
  const before = readFileSync(config, 'utf8')
  mkdirSync(join(scratch, 'box'))
  {
    using guard = guardGit(git, { reading: false, log: () => undefined })
    guard.begin([config], join(scratch, 'box'))
  }
  execFileSync('git', ['config', 'core.fsmonitor', 'evil'], { cwd: top, env: bareEnv(scratch) })
  using adopted = guardGit(git, { reading: false, log: () => undefined, isAdopted: true })
  adopted.goOn(scratch)
  assert.equal(adopted.breached.aborted, true)
  assert.equal(readFileSync(config, 'utf8'), before)
})

test('of a worktree the files are guarded that git reads there, and no folder of the shared repository', t => {
  const [top, scratch] = [gitProject(t), tempDir(t)]
  const tree = join(scratch, 'tree')
  execFileSync('git', ['worktree', 'add', '-q', tree], { cwd: top, env: bareEnv(scratch), stdio: 'pipe' })
  const common = join(top, '.git')
  const git = { top: tree, own: join(common, 'worktrees/tree'), common }
  const pointer = join(tree, '.git')
  const said: string[] = []
  using guard = guardGit(git, { reading: false, log: line => said.push(line) })
  const config = join(common, 'config')
  guard.begin([common, pointer, config, join(common, 'refs/heads')], scratch)
  execFileSync('git', ['remote', 'add', 'upstream', 'https://e.example/x'], { cwd: top, env: bareEnv(scratch) })
  renameSync(join(common, 'refs/heads'), join(common, 'refs/moved'))
  renameSync(join(common, 'refs/moved'), join(common, 'refs/heads'))
  guard.check()
  assert.equal(guard.breached.aborted, false)
  assert.match(readFileSync(config, 'utf8'), /upstream/, 'nothing in a worktree can write beside the settings')
  const text = readFileSync(pointer, 'utf8')
  chmodSync(pointer, 0o600)
  rmSync(pointer)
  writeFileSync(pointer, 'gitdir: /tmp/evil\n')
  guard.check()
  assert.equal(guard.breached.aborted, true)
  assert.equal(readFileSync(pointer, 'utf8'), text)
  assert.match(said[0] ?? '', /\.git is as it was/)
})
