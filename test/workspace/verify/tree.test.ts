import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { runInThisProcess, setShortRunner } from '../../../src/base/process/run-short.ts'
import { commitLeftovers } from '../../../src/workspace/verify/commit-leftovers.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { noteReady } from '../../../src/workspace/worktrees/set-up-worktree.ts'
import { noteFileOf } from '../../../src/workspace/worktrees/worktree-note.ts'
import { openVerifyFixture } from './worktree-fixture.ts'

test('a check that changes files has them put back, is told so and has not passed', async t => {
  const work = await openVerifyFixture(t, { 'a.txt': 'a\n', 'b.txt': 'b\n' })
  const commands = { lint: 'echo mended >a.txt; rm b.txt' }
  const result = await verify(work.request({}, { commands }), work.deps())
  assert.equal(result.status, 'failed')
  assert.equal(readFileSync(join(work.worktree.top, 'a.txt'), 'utf8'), 'a\n')
  assert.equal(work.git('status', '--porcelain'), '')
  assert.match(
    result.next_steps[0] ?? '',
    /The command of lint: it changed files: a\.txt, b\.txt\. They were restored\./,
  )
  assert.equal(work.git('show', 'refs/pcc/kept/t-1:a.txt'), 'mended', 'and what they became is kept')
})

test('a build may write files of the repository; they are put back all the same', async t => {
  const work = await openVerifyFixture(t)
  work.write('c.txt', 'c\n')
  const result = await verify(work.request({}, { commands: { build: 'echo built >a.txt' } }), work.deps())
  assert.equal(result.status, 'passed')
  assert.deepEqual(
    result.findings.map(({ code, weight }) => [code, weight]),
    [['gate.changed_files', 'note']],
  )
  assert.equal(work.git('status', '--porcelain'), '')
})

test('gates.allow lets a check that changes files pass', async t => {
  const work = await openVerifyFixture(t)
  const gates = {
    commands: { lint: 'echo mended >a.txt' },
    diff: { maxChangedLines: 0, forbiddenPaths: [], allow: ['gate.changed_files'] },
  }
  const result = await verify(work.request({}, gates), work.deps())
  assert.equal(result.status, 'passed')
})

test('what a command makes is neither deleted nor committed, then or in the next round, until somebody touches it', async t => {
  const work = await openVerifyFixture(t)
  work.write('c.txt', 'c\n')
  const make = 'test -e report.txt || { echo r >report.txt; touch -t 202001010000 report.txt; }'
  const request = work.request({}, { commands: { test: make } })
  const first = await verify(request, work.deps())
  assert.deepEqual(
    first.findings.map(({ code }) => code),
    ['gate.made_files'],
  )
  const report = join(work.worktree.top, 'report.txt')
  const made = statSync(report).mtime
  work.write('own.txt', 'the agent went on\n')
  const second = await verify({ ...request, round: 2 }, work.deps())
  assert.ok(existsSync(report))
  assert.deepEqual(work.git('ls-tree', '--name-only', 'HEAD').split('\n'), ['a.txt', 'c.txt', 'own.txt'])
  assert.notEqual(second.tree, first.tree)
  work.write('report.txt', 'w\n') // as long as before, and the agent can set the modification time
  utimesSync(report, made, made)
  await verify({ ...request, round: 3 }, work.deps())
  assert.deepEqual(work.git('ls-tree', '--name-only', 'HEAD').split('\n'), ['a.txt', 'c.txt', 'own.txt', 'report.txt'])
})

test('of many files that a command makes five are named and the others are counted', async t => {
  const work = await openVerifyFixture(t)
  const { findings } = await verify(work.request({}, { commands: { test: 'touch 1 2 3 4 5 6 7' } }), work.deps())
  const made = findings.find(({ code }) => code === 'gate.made_files')
  assert.match(made?.text ?? '', /neither ignored nor committed: 1, 2, 3, 4, 5 and 2 more\.$/)
})

test('a submodule that a command moves cannot be restored, so that nobody trusts the other gates', async t => {
  const work = await openVerifyFixture(t)
  const commit = 'git -C lib -c user.name=x -c user.email=x@x commit -q --allow-empty -m'
  work.git('init', '-q', 'lib')
  work.git('-C', 'lib', 'commit', '-q', '--allow-empty', '-m', 'first')
  work.git('update-index', '--add', '--cacheinfo', `160000,${work.git('-C', 'lib', 'rev-parse', 'HEAD')},lib`)
  work.git('commit', '-qm', 'with a submodule')
  await noteReady(work.worktree.top, ['lib']) // it was filled by the set-up
  const worktree = { ...work.worktree, base: work.git('rev-parse', 'HEAD') }
  const { status, findings } = await verify(
    work.request({ worktree }, { commands: { build: `${commit} second` } }),
    work.deps(),
  )
  assert.equal(status, 'broken')
  const changed = findings.find(({ code }) => code === 'gate.changed_files')
  assert.match(changed?.text ?? '', /it changed files: lib\. They could not be restored\.$/)
})

test('a command that commits or leaves the branch has both put back', async t => {
  const work = await openVerifyFixture(t)
  const commit = 'git -c user.name=x -c user.email=x@x commit -q --allow-empty -m sneaky && git checkout -q --detach'
  const result = await verify(work.request({}, { commands: { test: commit } }), work.deps())
  assert.equal(result.status, 'failed')
  assert.ok(result.findings.some(({ code }) => code === 'gate.moved_branch'))
  assert.equal(work.git('rev-parse', 'HEAD'), result.commit)
  assert.equal(work.git('symbolic-ref', 'HEAD'), 'refs/heads/pcc/t-1')
})

test('a command that deletes .git of the worktree has it put back', async t => {
  const work = await openVerifyFixture(t)
  const result = await verify(work.request({}, { commands: { build: 'rm -rf .git', test: 'cat a.txt' } }), work.deps())
  assert.equal(result.status, 'passed')
  assert.equal(work.git('status', '--porcelain'), '')
})

test('a repository that a command destroyed is nobody’s success', async t => {
  const work = await openVerifyFixture(t)
  const destroy = 'rm -rf "$(git rev-parse --absolute-git-dir)"'
  const result = await verify(work.request({}, { commands: { build: destroy } }), work.deps())
  assert.equal(result.status, 'broken')
  assert.ok(result.findings.some(({ code }) => code === 'gate.git_gone'))
})

test('what an interrupted check changed is put back before anything is committed', async t => {
  const work = await openVerifyFixture(t)
  // If the daemon dies during a command, only the note from before the first command exists.
  const note = noteFileOf(work.worktree.top)
  writeFileSync(note, JSON.stringify({ looking: work.git('rev-parse', 'HEAD'), files: [] }))
  work.write('a.txt', 'half\n')
  work.write('made.txt', 'x\n')
  const result = await verify(work.request({}, { commands: { test: 'cat a.txt' } }), work.deps())
  assert.equal(result.checks.find(({ gate }) => gate === 'test')?.output, 'a\n')
  assert.deepEqual(work.git('ls-tree', '--name-only', 'HEAD').split('\n'), ['a.txt'])
})

test('the note is there while a command runs, and closed after the last one', async t => {
  const work = await openVerifyFixture(t)
  const note = noteFileOf(work.worktree.top)
  const result = await verify(work.request({}, { commands: { test: `cat '${note}'` } }), work.deps())
  const during = result.checks.find(({ gate }) => gate === 'test')?.output ?? ''
  assert.equal(JSON.parse(during).looking, result.commit)
  assert.equal(JSON.parse(readFileSync(note, 'utf8')).looking, null)
})

test('an abort leaves no rows and no process, and the tree as it was', async t => {
  const work = await openVerifyFixture(t)
  const abort = new AbortController()
  const request = work.request(
    { signal: abort.signal },
    { commands: { test: 'echo x >a.txt; touch begun; sleep 600' } },
  )
  const running = verify(request, work.deps())
  const begun = join(work.worktree.top, 'begun')
  while (!existsSync(begun)) await wait(5)
  abort.abort(new Error('stop'))
  await assert.rejects(running, /stop/)
  assert.deepEqual(await work.store.evidence.latest('t-1'), [])
  assert.equal(readFileSync(join(work.worktree.top, 'a.txt'), 'utf8'), 'a\n')
})

test('conflicts that nobody resolved go back to the agent', async t => {
  const work = await openVerifyFixture(t)
  work.write('a.txt', 'ours\n')
  work.git('commit', '-qam', 'ours')
  work.git('checkout', '-q', '-b', 'other', 'main')
  work.write('a.txt', 'theirs\n')
  work.git('commit', '-qam', 'theirs')
  work.git('checkout', '-q', 'pcc/t-1')
  assert.throws(() => work.git('merge', 'other'))
  const result = await verify(work.request(), work.deps())
  assert.equal(result.status, 'failed')
  assert.match(result.next_steps[0] ?? '', /unresolved conflicts: a\.txt/)
})

test('an agent that went off its branch with its work is put back onto it', async t => {
  const work = await openVerifyFixture(t)
  work.git('checkout', '-q', '--detach')
  work.write('b.txt', 'b\n')
  work.git('add', '-A')
  work.git('commit', '-qm', 'elsewhere')
  const result = await verify(work.request(), work.deps())
  assert.equal(result.status, 'passed')
  assert.equal(result.commit, work.git('rev-parse', 'refs/heads/pcc/t-1'))
  assert.equal(work.git('show', 'pcc/t-1:b.txt'), 'b')
})

test('our note about the task is taken out again where an agent has committed it', async t => {
  const work = await openVerifyFixture(t)
  work.write('.perpetualcc/task.json', '{}')
  work.git('add', '-f', '.perpetualcc/task.json')
  work.git('commit', '-qm', 'all of it')
  await verify(work.request(), work.deps())
  assert.deepEqual(work.git('ls-tree', '-r', '--name-only', 'HEAD').split('\n'), ['a.txt'])
  assert.ok(existsSync(join(work.worktree.top, '.perpetualcc/task.json')))
})

test('in a project itself nothing is committed or put back, and the tree has a name all the same', async t => {
  const work = await openVerifyFixture(t)
  work.write('b.txt', 'b\n')
  const before = work.git('rev-parse', 'HEAD')
  const result = await verify(
    work.request({ worktree: undefined }, { commands: { test: 'echo x >a.txt; cat b.txt' } }),
    work.deps(),
  )
  assert.equal(result.commit, null)
  assert.match(result.tree ?? '', /^[0-9a-f]{40}$/)
  assert.equal(work.git('rev-parse', 'HEAD'), before)
  assert.equal(work.git('status', '--porcelain', 'b.txt'), '?? b.txt')
  assert.equal(readFileSync(join(work.worktree.top, 'a.txt'), 'utf8'), 'x\n', 'it may be the person who changed it')
  assert.ok(result.findings.some(({ code }) => code === 'gate.changed_files'))
})

test('without git the commands run, and nothing has a name', async t => {
  const work = await openVerifyFixture(t)
  rmSync(join(work.worktree.top, '.git'))
  const result = await verify(work.request({ worktree: undefined }, { commands: { test: 'cat a.txt' } }), work.deps())
  assert.deepEqual([result.status, result.tree], ['passed', null])
})

test('work is committed with one look at its files, whatever the agent left: new, changed, staged and deleted files', async t => {
  const work = await openVerifyFixture(t, { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' })
  const started: string[] = []
  using _counted = setShortRunner((run, signal) => {
    // A series of commands is one process, whose script names them.
    const words = run.args.flatMap(arg => arg.split(' '))
    const commands = words.flatMap((word, at) =>
      word === '--no-pager' ? [words.slice(at).find(next => !next.startsWith('-')) ?? ''] : [],
    )
    if (commands.length > 0) started.push(commands.join(' '))
    return runInThisProcess(run, signal)
  })
  work.write('new.txt', 'new\n')
  assert.equal((await commitLeftovers(work.worktree)).ok, true)
  // Every tracked file is hashed in an index of our own.
  const index = ['ls-files', 'update-index', 'rev-parse add ls-files add write-tree']
  assert.deepEqual(started.toSorted(), [...index, 'status', 'config', 'commit-tree update-ref'].toSorted())
  work.write('a.txt', 'changed\n')
  work.write('b.txt', 'staged\n')
  work.git('add', 'b.txt')
  rmSync(join(work.worktree.top, 'c.txt'))
  work.write('later.txt', 'later\n')
  assert.equal((await commitLeftovers(work.worktree)).ok, true)
  assert.equal(work.git('status', '--porcelain'), '')
  assert.equal(work.git('show', 'HEAD:a.txt', 'HEAD:b.txt', 'HEAD:later.txt'), 'changed\nstaged\nlater')
  assert.throws(() => work.git('show', 'HEAD:c.txt'))
})
