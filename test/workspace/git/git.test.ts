import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runInThisProcess, setShortRunner } from '../../../src/base/process/run-short.ts'
import { git, gitSeries } from '../../../src/workspace/git/git.ts'
import { findGitFolder } from '../../../src/workspace/git/git-folder.ts'
import { committerEnv, hardenCall } from '../../../src/workspace/git/harden.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'

/** A repository in which every setting that can name a program names one that leaves a trace. */
function hostile(t: TestContext) {
  const aside = tempDir(t)
  const root = gitProject(t, { 'a.txt': 'one\n', 'b.txt': 'one\n', '.gitattributes': '* filter=x diff=x merge=x\n' })
  const sprung = join(aside, 'sprung')
  const trap = join(aside, 'trap')
  writeFileSync(trap, `#!/bin/sh\necho "$0 $@" >> '${sprung}'\ncat\nexit 0\n`)
  chmodSync(trap, 0o755)
  const plain = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, env: bareEnv(aside), stdio: 'pipe', encoding: 'utf8' })
  for (const key of PROGRAMS) plain('config', key, trap)
  for (const key of SWITCHES) plain('config', key, 'true')
  const more = join(aside, 'more')
  writeFileSync(more, `[filter "included"]\n\tclean = ${trap}\n\tsmudge = ${trap}\n\trequired = true\n`)
  plain('config', 'include.path', more)
  plain('config', 'alias.status', `!${trap}`)
  writeFileSync(join(root, '.git', 'info', 'attributes'), 'b.txt filter=included\n')
  const hooks = join(root, '.git', 'hooks')
  rmSync(hooks, { recursive: true, force: true })
  mkdirSync(hooks)
  for (const hook of HOOKS) {
    writeFileSync(join(hooks, hook), readFileSync(trap))
    chmodSync(join(hooks, hook), 0o755)
  }
  const traces = () => (existsSync(sprung) ? readFileSync(sprung, 'utf8') : '')
  return { root, aside, trap, plain, traces }
}

const PROGRAMS = [
  'core.fsmonitor',
  'core.pager',
  'pager.log',
  'pager.diff',
  'core.editor',
  'sequence.editor',
  'core.sshCommand',
  'core.askPass',
  'core.alternateRefsCommand',
  'core.gitProxy',
  'credential.helper',
  'diff.external',
  'diff.x.command',
  'diff.x.textconv',
  'merge.x.driver',
  'filter.x.clean',
  'filter.x.smudge',
  'filter.x.process',
  'gpg.program',
  'gpg.ssh.program',
  'interactive.diffFilter',
]
const SWITCHES = ['commit.gpgSign', 'tag.gpgSign', 'log.showSignature', 'merge.verifySignatures', 'filter.x.required']
const HOOKS = [
  ...['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit', 'post-checkout', 'pre-rebase', 'post-rewrite'],
  ...['post-merge', 'pre-merge-commit', 'pre-push', 'pre-auto-gc', 'reference-transaction', 'post-index-change'],
]

const WHO = {
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.invalid',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.invalid',
}

test('nothing that a repository names is started by whatever is done in it', async t => {
  const { root, aside, traces } = hostile(t)
  const tree = join(aside, 'tree')
  const ok = async (directory: string, ...args: string[]) => {
    const result = await git(directory, args, { env: WHO })
    assert.ok(result.ok, `${args.join(' ')}: ${result.stderr}`)
    return result.stdout
  }
  await ok(root, 'worktree', 'add', '-q', '-b', 'other', tree, 'main')
  writeFileSync(join(tree, 'a.txt'), 'two\n')
  writeFileSync(join(tree, 'new.txt'), 'new\n')
  assert.match(await ok(tree, 'status', '--porcelain'), /M a\.txt\n.*new\.txt/)
  assert.match(await ok(tree, 'diff'), /\+two/)
  await ok(tree, 'add', '-A')
  await ok(tree, 'commit', '-q', '-m', 'second')
  assert.match(await ok(tree, 'log', '-p'), /\+two/)
  assert.match(await ok(tree, 'show', 'HEAD'), /\+two/)
  assert.match(await ok(tree, 'diff-tree', '-p', 'HEAD'), /\+two/)
  await ok(tree, 'stash', 'list')
  writeFileSync(join(root, 'b.txt'), 'three\n')
  await ok(root, 'add', 'b.txt')
  await ok(root, 'commit', '-q', '-m', 'third')
  await ok(tree, 'rebase', '-q', 'main')
  await ok(root, 'merge', '-q', '--no-edit', 'other')
  await ok(tree, 'checkout', '-q', '--detach')
  await ok(root, 'worktree', 'remove', '--force', tree)
  assert.equal(traces(), '')
})

test('the same repository does start them for whoever calls git as usual', t => {
  const { root, plain, traces } = hostile(t)
  writeFileSync(join(root, 'a.txt'), 'two\n')
  assert.throws(() => plain('add', 'a.txt'))
  assert.match(traces(), /trap/)
})

test('a merge driver that a repository names gives way to the usual merge of lines, with its conflicts', async t => {
  const { root, traces } = hostile(t)
  await git(root, ['checkout', '-q', '-b', 'left'])
  writeFileSync(join(root, 'a.txt'), 'left\n')
  await git(root, ['commit', '-q', '-a', '-m', 'left'], { env: WHO })
  await git(root, ['checkout', '-q', 'main'])
  writeFileSync(join(root, 'a.txt'), 'right\n')
  await git(root, ['commit', '-q', '-a', '-m', 'right'], { env: WHO })
  const merged = await git(root, ['merge', '--no-edit', 'left'], { env: WHO })
  assert.equal(merged.code, 1)
  assert.match(readFileSync(join(root, 'a.txt'), 'utf8'), /^<<<<<<<[^\n]*\nright\n=======\nleft\n>>>>>>>/)
  assert.equal(traces(), '')
})

test('a repository inside of it, made a submodule by the agent, is not looked into by its own settings', async t => {
  const { root, plain, traces } = hostile(t)
  const inner = join(root, 'inner')
  execFileSync('cp', ['-r', join(root, '.git'), join(root, '..', 'kept.git')])
  t.after(() => rmSync(join(root, '..', 'kept.git'), { recursive: true, force: true }))
  mkdirSync(inner)
  execFileSync('cp', ['-r', join(root, '..', 'kept.git'), join(inner, '.git')])
  writeFileSync(join(inner, '.gitattributes'), '* filter=x\n')
  writeFileSync(join(inner, 'a.txt'), 'two\n')
  for (const section of ['filter.x', 'include', 'merge.x', 'diff.x']) plain('config', '--remove-section', section)
  plain('update-index', '--add', '--cacheinfo', `160000,${plain('rev-parse', 'HEAD').trim()},inner`)
  const before = traces()
  for (const args of [['status', '--porcelain'], ['add', '--update', '--', '.'], ['diff'], ['ls-files', '-m']]) {
    const { ok, stderr } = await git(root, args)
    assert.ok(ok, stderr)
    assert.equal(traces(), before, args.join(' '))
  }
})

test('a series passes outputs on byte by byte, takes every word as it is, and ends with the first failure', async t => {
  const project = gitProject(t)
  const env = await committerEnv(project)
  const message = `it's $(touch sprung) "quoted" \\ \n\nand more`
  writeFileSync(join(project, "a 'b' $(touch sprung)"), 'x')
  const done = await gitSeries(
    project,
    outputOf => [
      ['add', '-A'],
      ['ls-files', '-z'],
      ['commit-tree', 'HEAD^{tree}', '-p', 'HEAD', '-F', '-'],
      ['update-ref', '-m', '`touch sprung` ; touch sprung', 'refs/heads/made', outputOf(2)],
      ['cat-file', 'commit', `${outputOf(2)}^{commit}`],
    ],
    { env, input: message },
  )
  assert.ok(done.ok, JSON.stringify(done))
  const [added, files = '', commit = '', moved, shown = ''] = done.outputs
  assert.deepEqual([added, moved, existsSync(join(project, 'sprung'))], ['', '', false])
  assert.ok(files.split('\0').includes("a 'b' $(touch sprung)"), files)
  assert.ok(shown.includes(message), shown)
  assert.equal((await git(project, ['rev-parse', 'refs/heads/made'])).stdout, commit)
  const failed = await gitSeries(project, () => [
    ['rev-parse', '--verify', 'nothing'],
    ['update-ref', '-d', 'refs/heads/made'],
  ])
  assert.match(failed.ok ? '' : failed.stderr, /Needed a single revision/)
  assert.equal((await git(project, ['rev-parse', 'refs/heads/made'])).stdout, commit)
})

test('hooks that the settings of a repository name are switched off for every command that could run them', async t => {
  const project = gitProject(t)
  writeFileSync(
    join(project, '.git/config'),
    '[hook "x y"]\n\tcommand = touch sprung\n\tevent = reference-transaction\n',
    { flag: 'a' },
  )
  const folder = await findGitFolder(project)
  for (const args of [
    ['update-ref', 'refs/heads/a', 'HEAD'],
    ['symbolic-ref', 'HEAD', 'refs/heads/a'],
    ['checkout', '-q', 'main'],
    ['add', '.'],
  ]) {
    await using call = await hardenCall(folder, [args])
    const settings = Object.entries(call.env).flatMap(([key, name]) =>
      key.startsWith('GIT_CONFIG_KEY_') ? [`${name}=${call.env[key.replace('KEY', 'VALUE')]}`] : [],
    )
    assert.ok(
      settings.includes('hook.x y.enabled=false') && settings.includes('hook.x y.command=false'),
      args.join(' '),
    )
  }
})

test('a call that takes too long, says too much or is called off ends as a value', async t => {
  const root = gitProject(t)
  const long = await git(root, ['cat-file', '--batch'], { timeoutMs: 1, input: 'HEAD\n'.repeat(300_000) })
  assert.deepEqual([long.ok, long.code], [false, null])
  const much = await git(root, ['cat-file', '-p', 'HEAD'], { maxBytes: 10 })
  assert.match(much.stderr, /more than 10 bytes/)
  assert.match((await git(root, ['status'], { signal: AbortSignal.abort() })).stderr, /called off/)
  assert.equal((await git(join(root, 'nowhere'), ['status'])).ok, false)
})

test('what the person ignores everywhere is ignored, and what a repository’s settings want hidden is not', async t => {
  const root = gitProject(t)
  const home = tempDir(t)
  writeFileSync(join(home, 'config'), `[core]\n\texcludesFile = ${join(home, 'ignored')}\n`)
  writeFileSync(join(home, 'ignored'), '.DS_Store\n')
  writeFileSync(join(home, 'hiding'), 'work.txt\n')
  execFileSync('git', ['config', 'core.excludesFile', join(home, 'hiding')], { cwd: root })
  for (const name of ['.DS_Store', 'work.txt']) writeFileSync(join(root, name), 'x\n')
  const before = process.env['GIT_CONFIG_GLOBAL']
  process.env['GIT_CONFIG_GLOBAL'] = join(home, 'config')
  t.after(() => {
    if (before === undefined) delete process.env['GIT_CONFIG_GLOBAL']
    else process.env['GIT_CONFIG_GLOBAL'] = before
  })
  assert.equal((await git(root, ['status', '--porcelain'])).stdout, '?? work.txt\n')
})

test('a commit is by the person, as their settings or the repository have it, and by pcc where nobody has a name', async t => {
  const root = gitProject(t)
  const home = tempDir(t)
  writeFileSync(join(home, 'config'), '[user]\n\tname = Ada Lovelace\n\temail = ada@example.invalid\n')
  const saved = { ...process.env }
  t.after(() => Object.assign(process.env, saved))
  process.env['GIT_CONFIG_NOSYSTEM'] = '1'
  process.env['GIT_CONFIG_GLOBAL'] = join(home, 'nothing')
  assert.equal((await committerEnv(root))['GIT_AUTHOR_NAME'], 'PerpetualCC')
  process.env['GIT_CONFIG_GLOBAL'] = join(home, 'config')
  assert.equal((await committerEnv(root))['GIT_COMMITTER_EMAIL'], 'ada@example.invalid')
  execFileSync('git', ['config', 'user.name', 'Of the project'], { cwd: root })
  assert.equal((await committerEnv(root))['GIT_AUTHOR_NAME'], 'Of the project')
})

test('where the settings name more than can be read, git does not run', async t => {
  const { root, traces } = hostile(t)
  const names = Array.from({ length: 9_000 }, (_, at) => `[filler "${'x'.repeat(1_000)}${at}"]\n\ta = 1\n`)
  writeFileSync(join(root, '.git', 'config'), names.join(''), { flag: 'a' })
  writeFileSync(join(root, 'a.txt'), 'two\n')
  const { ok, stderr } = await git(root, ['add', 'a.txt'])
  assert.equal(ok, false)
  assert.match(stderr, /settings of the repository cannot be read: it said more than/)
  assert.equal(traces(), '')
})

test('whether a fence can be made is tried once, and not for every git that writes', async t => {
  const root = gitProject(t, { 'a.txt': 'one\n' })
  const started: string[] = []
  using _ = setShortRunner((run, signal) => {
    started.push(run.args.join(' '))
    return runInThisProcess(run, signal)
  })
  for (const args of [
    ['update-ref', 'refs/pcc/a', 'HEAD'],
    ['read-tree', '-m', '-u', 'HEAD'],
    ['update-ref', 'refs/pcc/b', 'HEAD'],
    ['branch', 'b'],
  ]) {
    const { ok, stderr } = await git(root, args)
    assert.ok(ok, stderr)
  }
  assert.ok(started.filter(args => args.includes('--version')).length <= 1, started.join('\n'))
  assert.equal(started.filter(args => /update-ref|read-tree|branch/.test(args)).length, 4)
})
