import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { listChangedSince, readTaskDiff } from '../../src/workspace/changes.ts'
import { tempDir } from '../support/world.ts'
import { openWorktreeFixture, write as writeFiles } from './worktrees/worktree-fixture.ts'

/** A repository with one commit of some files; `now` is a time after everything in it. */
async function repository(t: TestContext, ...files: string[]) {
  const root = tempDir(t)
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: 'pipe' })
  git('init', '-q')
  for (const [name, value] of [
    ['user.name', 'a'],
    ['user.email', 'a@b.c'],
  ])
    git('config', name ?? '', value ?? '')
  const write = (path: string, text = 'new') => {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  for (const file of files) write(file, 'old')
  git('add', '.')
  const env = { ...process.env, GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z' }
  execFileSync('git', ['commit', '-q', '-m', 'first', '--allow-empty'], { cwd: root, env, stdio: 'pipe' })
  return { root, git, write }
}

/** A time that is later than everything on the disk, whose clock is coarser than ours. */
async function tick(root: string): Promise<number> {
  const probe = join(root, '.git', 'probe')
  writeFileSync(probe, '')
  const { mtimeMs } = statSync(probe)
  for (;;) {
    await sleep(2)
    writeFileSync(probe, '')
    if (statSync(probe).mtimeMs > mtimeMs) return statSync(probe).mtimeMs
  }
}

test('what was written, removed, staged or committed after a time is named, and what lay there before is not', async t => {
  const { root, git, write } = await repository(t, 'kept.ts', 'edited.ts', 'gone/file.ts', 'staged.ts', 'committed.ts')
  write('dirty-before.ts')
  write('kept.ts', 'dirty before')
  write('.gitignore', 'ignored\n')
  const since = await tick(root)
  write('edited.ts')
  write('deep/new file é.ts')
  write('ignored')
  rmSync(join(root, 'gone'), { recursive: true })
  write('staged.ts')
  git('add', 'staged.ts')
  write('committed.ts')
  git('commit', '-q', '-m', 'second', 'committed.ts')
  const changed = await listChangedSince(root, since)
  assert.deepEqual(changed, ['committed.ts', 'deep/new file é.ts', 'edited.ts', 'gone/file.ts', 'staged.ts'])
})

test('a repository without a commit, and one that is a directory further up, are looked at too', async t => {
  const root = tempDir(t)
  execFileSync('git', ['init', '-q'], { cwd: root })
  writeFileSync(join(root, 'first.ts'), '')
  assert.deepEqual(await listChangedSince(root, 0), ['first.ts'])
  mkdirSync(join(root, 'inner'))
  writeFileSync(join(root, 'inner', 'second.ts'), '')
  assert.deepEqual(await listChangedSince(join(root, 'inner'), 0), ['second.ts'])
})

test('where there is no repository nothing is known', async t => {
  assert.equal(await listChangedSince(tempDir(t), 0), undefined)
})

test('no program that the repository names is run', async t => {
  const { root, git, write } = await repository(t, 'a.ts', 'b.ts')
  const trap = join(root, '.git', 'trap')
  const sprung = join(root, '.git', 'sprung')
  writeFileSync(trap, `#!/bin/sh\ntouch '${sprung}'\ncat\n`)
  chmodSync(trap, 0o755)
  for (const key of [
    'filter.x.clean',
    'filter.x.process',
    'filter.a=b " c.clean',
    'core.fsmonitor',
    'core.pager',
    'diff.external',
    'gpg.program',
  ])
    git('config', key, trap)
  git('config', 'log.showSignature', 'true')
  writeFileSync(join(root, '.git', 'info', 'attributes'), 'a.ts filter=x diff=x\nb.ts filter=a=b\n')
  const since = await tick(root)
  write('a.ts')
  assert.deepEqual(await listChangedSince(root, since), ['a.ts'])
  assert.ok(!existsSync(sprung))
})

test('attributes and settings of the repository hide no text from a review, and a binary file stays one', async t => {
  const made = await openWorktreeFixture(t, { files: { 'src/pay.js': 'exports.pay = n => n\n' }, settings: {} })
  const worktree = await made.make()
  const pay = 'exports.pay = n => n * 1000 // changed\n'
  writeFiles(worktree.top, { '.gitattributes': '*.js -diff\n', 'src/pay.js': pay, 'x.bin': 'a\0b' })
  const row = await made.deps.store.worktrees.get(worktree)
  const read = await readTaskDiff(
    { task: { id: 't-1', title: 'x' }, worktree: row, merged: undefined },
    { stat: false },
  )
  assert.match(read?.diff ?? '', /^\+exports\.pay = n => n \* 1000/m)
  assert.deepEqual(
    read?.files.map(({ path, added }) => [path, added]),
    [
      ['.gitattributes', 1],
      ['src/pay.js', 1],
      ['x.bin', null],
    ],
  )
})
