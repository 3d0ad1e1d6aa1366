import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Worktree } from '../../../src/domain/worktree.ts'
import { continueRebase } from '../../../src/workspace/merge/continue-replay.ts'
import { readConflict } from '../../../src/workspace/merge/read-conflict.ts'
import { commitLeftovers } from '../../../src/workspace/verify/commit-leftovers.ts'
import { tempDir } from '../../support/world.ts'
import { write } from '../worktrees/worktree-fixture.ts'
import { type MergeFixture, openMergeFixture } from './merge-fixture.ts'

/** Where git keeps the worktree's own state: an agent behind the wall can write there. */
function adminFolder(world: MergeFixture, { top }: Worktree): string {
  return world.gitIn(top, 'rev-parse', '--absolute-git-dir').trim()
}

/** What an agent plants to have its command run by whoever continues the rebase. */
function plantRebase(world: MergeFixture, worktree: Worktree, folder: 'rebase-merge' | 'rebase-apply', victim: string) {
  const [head = '', onto = ''] = world.gitIn(worktree.top, 'rev-parse', 'HEAD', 'HEAD~1').trim().split('\n')
  world.gitIn(worktree.top, 'checkout', '-q', '--detach')
  const own = join(adminFolder(world, worktree), folder)
  rmSync(own, { recursive: true, force: true })
  write(own, {
    'head-name': `refs/heads/${worktree.branch}\n`,
    onto: `${onto}\n`,
    'orig-head': `${head}\n`,
    interactive: '',
    'git-rebase-todo': `exec echo ran > ${victim}\n`,
    end: '1\n',
    msgnum: '1\n',
    done: '',
  })
}

/** A task and a person change the same line, and the rebase of pcc stopped there. */
async function stopped(t: TestContext, strategy: 'rebase' | 'merge' = 'rebase') {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'a.txt': 'one\ntask\nthree\n' })
  write(worktree.top, { 'later.txt': 'later\n' })
  world.gitIn(worktree.top, 'add', '-A')
  world.gitIn(worktree.top, 'commit', '-qm', 'later')
  world.commit({ 'a.txt': 'one\nperson\nthree\n' })
  await world.enqueue(worktree, { strategy })
  await world.advance()
  const victim = join(tempDir(t), 'victim.txt')
  return { world, worktree, victim, own: adminFolder(world, worktree) }
}

function resolve(world: MergeFixture, { top }: Worktree): void {
  write(top, { 'a.txt': 'one\nboth\nthree\n' })
  world.gitIn(top, 'add', 'a.txt')
}

for (const folder of ['rebase-merge', 'rebase-apply'] as const) {
  test(`a planted ${folder} never runs: nothing of it is continued, and the gates say that git is in the middle of it`, async t => {
    const world = await openMergeFixture(t)
    const worktree = await world.work('t-000001', { 'new.txt': 'x\n' })
    const victim = join(tempDir(t), 'victim.txt')
    plantRebase(world, worktree, folder, victim)
    assert.deepEqual(await continueRebase(worktree), { kind: 'none' })
    const left = await commitLeftovers(worktree)
    assert.ok(!left.ok)
    assert.equal(left.finding.code, 'git.unfinished')
    await world.enqueue(worktree)
    await world.advance()
    assert.equal((await world.row('t-000001')).state, 'merged', 'the verified commit lands, without what was planted')
    assert.ok(!existsSync(victim))
  })
}

test('what an agent writes into a rebase of ours never runs; its resolution and the other commits land', async t => {
  const { world, worktree, victim, own } = await stopped(t)
  const exec = `exec echo ran > ${victim}\n`
  for (const name of ['git-rebase-todo', 'git-rebase-todo.backup']) writeFileSync(join(own, 'rebase-merge', name), exec)
  writeFileSync(join(own, 'rebase-merge', 'strategy'), 'planted\n')
  writeFileSync(join(own, 'rebase-merge', 'gpg_sign_opt'), '-Splanted\n')
  resolve(world, worktree)
  assert.deepEqual(await continueRebase(worktree), { kind: 'done' })
  assert.ok(!existsSync(victim))
  assert.equal(world.gitIn(worktree.top, 'status', '--porcelain'), '')
  await world.enqueue(worktree)
  await world.advance()
  assert.deepEqual(world.subjects(), ['later', 'work of t-000001', 'by hand: a.txt', 'first'])
  assert.equal(world.git('show', 'main:a.txt'), 'one\nboth\nthree\n')
})

test('a commit that was resolved keeps its author, its time and its message', async t => {
  const { world, worktree } = await stopped(t)
  const look = (commit: string) => world.gitIn(worktree.top, 'log', '-1', '--format=%an %ae %ad%n%B', commit)
  const before = look('refs/heads/pcc/t-000001~1')
  resolve(world, worktree)
  await continueRebase(worktree)
  assert.equal(look('HEAD~1'), before)
})

test('the other side of a merge commit in the work is applied once', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'a.txt': 'one\ntask\nthree\n' })
  const run = (...args: string[]) => world.gitIn(worktree.top, ...args)
  run('checkout', '-q', '-b', 'side', 'HEAD~1')
  write(worktree.top, { 'a.txt': 'one\nside\nthree\n', 'side.txt': 'side\n' })
  run('add', '-A')
  run('commit', '-qm', 'side')
  run('checkout', '-q', 'pcc/t-000001')
  run('merge', '-q', '--no-ff', '-X', 'ours', '-m', 'both sides', 'side')
  write(worktree.top, { 'last.txt': 'last\n' })
  run('add', '-A')
  run('commit', '-qm', 'last')
  world.commit({ 'a.txt': 'one\nperson\nthree\n' })
  await world.enqueue(worktree)
  await world.advance()
  let rounds = 0
  for (let next = 'conflict'; next === 'conflict' && rounds < 5; rounds += 1) {
    write(worktree.top, { 'a.txt': `one\nround ${rounds}\nthree\n` })
    run('add', 'a.txt')
    next = (await continueRebase(worktree)).kind
    assert.ok(next === 'conflict' || next === 'done', next)
  }
  assert.equal(rounds, 2)
  const subjects = run('log', '--format=%s', 'main..HEAD').trim().split('\n')
  assert.deepEqual(subjects.toSorted(), ['last', 'side', 'work of t-000001'])
})

test('a daemon that dies after the resolution was committed goes on from it', async t => {
  const { world, worktree } = await stopped(t)
  resolve(world, worktree)
  const note = join(worktree.top, '..', '.t-000001.pcc-note.json')
  const before = JSON.parse(readFileSync(note, 'utf8'))
  assert.deepEqual(await continueRebase(worktree), { kind: 'done' })
  const result = world.gitIn(worktree.top, 'rev-parse', 'HEAD')
  // As if it had died with the resolution noted: first after, then before the branch moved.
  const resolved = world.gitIn(worktree.top, 'rev-parse', 'HEAD~1').trim()
  const noted = JSON.stringify({ ...before, replay: { ...before.replay, resolved } })
  writeFileSync(note, noted)
  assert.deepEqual(await continueRebase(worktree), { kind: 'done' })
  assert.equal(world.gitIn(worktree.top, 'rev-parse', 'HEAD'), result)
  world.gitIn(worktree.top, 'reset', '-q', '--hard', before.replay.head)
  writeFileSync(note, noted)
  assert.deepEqual(await continueRebase(worktree), { kind: 'done' })
  assert.equal(world.gitIn(worktree.top, 'show', 'HEAD:a.txt'), 'one\nboth\nthree\n')
  assert.deepEqual(await continueRebase(worktree), { kind: 'none' })
})

test('a HEAD that was moved away from where the rebase stopped is left to a person', async t => {
  const { world, worktree } = await stopped(t)
  const tip = world.gitIn(worktree.top, 'rev-parse', 'HEAD').trim()
  resolve(world, worktree)
  writeFileSync(join(adminFolder(world, worktree), 'HEAD'), `${world.tip('main~1')}\n`)
  const result = await continueRebase(worktree)
  assert.ok(result.kind === 'broken', result.kind)
  assert.match(result.why, new RegExp(`its HEAD does not follow ${tip.slice(0, 12)}`))
})

test('another MERGE_HEAD than ours changes nothing of a merge, and a planted one is not concluded', async t => {
  const { world, worktree, own } = await stopped(t, 'merge')
  const main = world.tip('main')
  writeFileSync(join(own, 'MERGE_HEAD'), `${world.tip('main~1')}\n`)
  resolve(world, worktree)
  assert.deepEqual(await continueRebase(worktree), { kind: 'done' })
  assert.equal(world.gitIn(worktree.top, 'rev-parse', 'HEAD^1').trim(), main)
  for (const name of ['MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD']) {
    writeFileSync(join(own, name), `${main}\n`)
    assert.deepEqual(await continueRebase(worktree), { kind: 'none' })
    const left = await commitLeftovers(worktree)
    assert.equal(left.ok ? undefined : left.finding.code, 'git.unfinished')
    rmSync(join(own, name))
  }
})

for (const name of ['COMMIT_EDITMSG', 'logs/HEAD', 'logs', 'MERGE_MSG', 'ORIG_HEAD', 'index', 'refs']) {
  test(`git of the daemon writes nothing through a linked ${name}, and says what to remove`, async t => {
    const world = await openMergeFixture(t)
    const worktree = await world.work('t-000001', { 'new.txt': 'x\n' })
    const own = adminFolder(world, worktree)
    const elsewhere = tempDir(t)
    const victim = join(elsewhere, 'victim')
    const isFolder = name === 'logs' || name === 'refs'
    if (isFolder) mkdirSync(victim)
    if (isFolder) writeFileSync(join(victim, 'HEAD'), 'precious\n')
    else if (name === 'index') renameSync(join(own, name), victim)
    else writeFileSync(victim, 'precious\n')
    const look = () => readFileSync(isFolder ? join(victim, 'HEAD') : victim).toString('base64')
    const before = look()
    rmSync(join(own, name), { recursive: true, force: true })
    symlinkSync(victim, join(own, name))
    write(worktree.top, { 'loose.txt': 'left by the agent\n' })
    const left = await commitLeftovers(worktree)
    assert.ok(!left.ok)
    assert.ok(left.finding.text.includes(`rm '${join(own, name)}'`), left.finding.text)
    world.commit({ 'b.txt': 'moved\n' })
    await world.enqueue(worktree, { head: world.tip('pcc/t-000001') })
    await world.advance()
    assert.notEqual((await world.row('t-000001')).state, 'merged')
    assert.equal(look(), before)
  })
}

for (const path of ['logs/refs/heads/pcc/t-000001', 'logs/refs/heads/pcc', 'refs/heads/pcc', 'logs/refs/heads/main']) {
  test(`git of the daemon writes nothing through a linked ${path} of the shared folder`, async t => {
    const world = await openMergeFixture(t)
    const worktree = await world.work('t-000001', { 'new.txt': 'x\n' })
    world.commit({ 'b.txt': 'moved\n' })
    await world.enqueue(worktree)
    const shared = join(world.project, '.git', path)
    const victim = join(tempDir(t), 'victim')
    renameSync(shared, victim)
    symlinkSync(victim, shared)
    const file = path.endsWith('/pcc') ? join(victim, 't-000001') : victim
    const before = readFileSync(file, 'utf8')
    await world.advance().catch(() => undefined)
    assert.notEqual((await world.row('t-000001')).state, 'merged')
    assert.equal(readFileSync(file, 'utf8'), before)
  })
}

test('a repository whose folders are links to another one is worked with, and so is one with linked hooks', async t => {
  const world = await openMergeFixture(t)
  const git = join(world.project, '.git')
  const other = join(tempDir(t), 'other.git')
  mkdirSync(join(other, 'logs'), { recursive: true })
  for (const name of ['config', 'hooks', 'objects', 'refs', 'logs/refs']) {
    renameSync(join(git, name), join(other, name))
    symlinkSync(join(other, name), join(git, name))
  }
  const worktree = await world.work('t-000001', { 'new.txt': 'x\n' })
  world.commit({ 'b.txt': 'moved\n' })
  await world.enqueue(worktree)
  await world.advance()
  assert.equal((await world.row('t-000001')).state, 'merged')
})

test('of a conflict no file behind a linked folder is shown, whatever the index of the agent names', async t => {
  const world = await openMergeFixture(t)
  const outside = tempDir(t)
  write(outside, { 'notes.txt': 'planted key\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n' })
  const { top } = await world.work('t-000001', { 'a.txt': 'one\n' })
  symlinkSync(outside, join(top, 'linked'))
  const id = world.gitIn(top, 'rev-parse', 'HEAD:a.txt').trim()
  const stages = [1, 2, 3].map(stage => `100644 ${id} ${stage}\tlinked/notes.txt\n`).join('')
  execFileSync('git', ['update-index', '--index-info'], { cwd: top, input: stages })
  const conflict = await readConflict(top)
  assert.deepEqual(
    conflict?.files.map(({ path, hunks }) => [path, hunks]),
    [['linked/notes.txt', '']],
  )
})
