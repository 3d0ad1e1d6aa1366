import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fenceCall } from '../../../src/workspace/git/fence.ts'
import { git } from '../../../src/workspace/git/git.ts'
import { findGitFolder } from '../../../src/workspace/git/git-folder.ts'
import { hardenCall } from '../../../src/workspace/git/harden.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { WHO, worktreeOfAgent } from './worktree-of-agent.ts'

test('git that stores the content of files does not see what is hidden from agents, through whatever link', async t => {
  const { top, shell } = worktreeOfAgent(t)
  const home = tempDir(t)
  writeFileSync(join(home, 'id_rsa'), 'a key\n')
  const before = process.env['HOME']
  process.env['HOME'] = home
  t.after(() => {
    process.env['HOME'] = before
  })
  shell(`ln -s '${home}/id_rsa' link; echo plain > plain`)
  assert.equal((await git(top, ['hash-object', '-w', 'plain'])).ok, true)
  assert.match((await git(top, ['hash-object', '-w', 'link'])).stderr, /No such file/)
  const index = join(tempDir(t), 'index')
  const folder = await findGitFolder(top)
  const call = {
    directory: top,
    command: '/usr/bin/git',
    args: [],
    program: '/usr/bin/git',
    asked: [['add', '.']],
    env: { GIT_INDEX_FILE: index },
  }
  assert.ok((await fenceCall(folder, call)).args.includes('--tmpfs'))
  assert.equal((await git(top, ['add', '.'], { env: { GIT_INDEX_FILE: index } })).ok, true)
})

test('git that writes sees nothing hidden through linked objects, whatever it writes', async t => {
  const { root, top, shell } = worktreeOfAgent(t)
  const home = realpathSync(tempDir(t))
  const before = process.env['HOME']
  process.env['HOME'] = home
  t.after(() => {
    process.env['HOME'] = before
  })
  const foreign = join(home, 'project')
  execFileSync(
    'sh',
    ['-ec', `git init -q -b main '${foreign}'; cd '${foreign}'; echo mine > f; git add .; git commit -qm m`],
    {
      env: { ...bareEnv(home), ...WHO },
    },
  )
  const commit = shell('git rev-parse HEAD', foreign).trim()
  const [first, rest] = [commit.slice(0, 2), commit.slice(2)]
  const objects = join(root, '.git/objects')
  mkdirSync(join(objects, first), { recursive: true })
  symlinkSync(join(foreign, '.git/objects', first, rest), join(objects, first, rest))
  assert.equal(shell(`git cat-file -t ${commit}`).trim(), 'commit', 'git as usual follows the link')
  assert.equal((await git(top, ['update-ref', 'refs/heads/taken', commit])).ok, false)
  assert.equal((await git(top, ['update-ref', 'refs/heads/own', 'HEAD'])).ok, true)
})

test('worktrees that are hidden from agents are not forgotten by git', async t => {
  const { root, shell } = worktreeOfAgent(t)
  const home = realpathSync(tempDir(t))
  const before = process.env['HOME']
  process.env['HOME'] = home
  t.after(() => {
    process.env['HOME'] = before
  })
  shell(`git worktree add -q -b kept '${home}/kept'; git worktree add -q -b other '${home}/other'`, root)
  const listed = () =>
    shell('git worktree list --porcelain', root)
      .match(/^branch .*$/gm)
      ?.sort()
  assert.equal((await git(root, ['worktree', 'prune'])).ok, true)
  assert.equal((await git(root, ['worktree', 'remove', `${home}/other`])).ok, true)
  assert.equal((await git(root, ['worktree', 'add', '-q', '-b', 'new', `${home}/new`])).ok, true)
  assert.deepEqual(
    listed(),
    ['kept', 'main', 'new', 'task'].map(name => `branch refs/heads/${name}`),
  )
})

test('a ref that leads to another one is looked at to its end', async t => {
  const { aside, root, top, shell } = worktreeOfAgent(t)
  const victim = join(aside, 'victim')
  writeFileSync(victim, 'precious\n')
  const logs = join(root, '.git/logs/refs/heads')
  shell(`git symbolic-ref refs/heads/one refs/heads/two; git symbolic-ref refs/heads/two refs/heads/three
mkdir -p '${logs}'; ln -s '${victim}' '${logs}/three'`)
  const { ok, stderr } = await git(top, ['update-ref', '-m', 'x', 'refs/heads/one', 'HEAD'])
  assert.equal(ok, false)
  assert.match(stderr, /logs\/refs\/heads\/three is a link/)
  assert.equal(readFileSync(victim, 'utf8'), 'precious\n')
})

test('git with an index of ours is fenced where an agent can put a link in the place of that index', async t => {
  const { root, top, shell } = worktreeOfAgent(t)
  const folder = await findGitFolder(top)
  const own = shell('git rev-parse --absolute-git-dir').trim()
  const call = { directory: top, command: '/usr/bin/git', args: [], program: '/usr/bin/git' }
  const isFenced = async (index: string) => {
    const env = { GIT_INDEX_FILE: index, PATH: process.env['PATH'] ?? '' }
    return (await fenceCall(folder, { ...call, asked: [['read-tree', 'HEAD']], env })).command !== call.command
  }
  const link = join(tempDir(t), 'link')
  symlinkSync(own, link)
  for (const place of [own, join(own, 'pcc-aside'), join(root, '.git'), top, link])
    assert.equal(await isFenced(join(place, 'index')), true, place)
  assert.equal(await isFenced('index'), true, 'a relative one is in the checkout')
  assert.equal(await isFenced(join(tempDir(t), 'index')), false)
})

test('git that writes objects writes none through a folder of objects that became a link after the look', async t => {
  const { aside, root, top, shell } = worktreeOfAgent(t)
  const folder = await findGitFolder(top)
  const objects = join(root, '.git/objects')
  for (const asked of [['write-tree'], ['commit-tree', '-m', 'x', shell('git rev-parse HEAD^{tree}').trim()]]) {
    const safe = await hardenCall(folder, [asked])
    const env = { ...safe.env, ...WHO }
    shell(`echo ${asked[0]} > a && git add a`)
    const { command } = safe
    const inner = { command, args: safe.args[0] ?? [], program: command }
    const call = await fenceCall(folder, { directory: top, ...inner, asked: [asked], env })
    const victim = join(aside, asked[0] ?? '')
    mkdirSync(victim)
    const names = Array.from({ length: 256 }, (_, number) => number.toString(16).padStart(2, '0'))
    for (const name of names.filter(each => !existsSync(join(objects, each)))) symlinkSync(victim, join(objects, name))
    spawnSync(call.command, call.args, { cwd: top, env })
    assert.deepEqual(readdirSync(victim), [], asked[0])
    for (const name of names) if (lstatSync(join(objects, name)).isSymbolicLink()) rmSync(join(objects, name))
    await safe[Symbol.asyncDispose]()
  }
})
