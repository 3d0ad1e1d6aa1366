import assert from 'node:assert/strict'
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setShortRunner } from '../../../src/base/process/run-short.ts'
import { readIndexMarks } from '../../../src/workspace/git/checkout-state.ts'
import { readBranchTips, readRefs } from '../../../src/workspace/git/refs.ts'
import { gitProject } from '../../support/world.ts'
import { plainGit } from '../worktrees/worktree-fixture.ts'

/** Names of every length modulo the padding, one too long for the flags, and names that are not ASCII. */
const NAMES = [...Array.from({ length: 17 }, (_, index) => `d/${'n'.repeat(index + 1)}`), 'ü ✓\n.txt', longName()]

function longName(): string {
  return Array.from({ length: 21 }, () => 'p'.repeat(200)).join('/')
}

test('what the index file says is what git says, in the plain form and in every other', async t => {
  const root = gitProject(t)
  const git = (...args: string[]) => plainGit(root, root, args)
  const [, oid = ''] = git('ls-files', '-s').split(' ')
  for (const name of NAMES) git('update-index', '--add', '--cacheinfo', `100644,${oid},${name}`)
  git('update-index', '--add', '--cacheinfo', `160000,${git('rev-parse', 'HEAD').trim()},sub module`)
  git('update-index', '--assume-unchanged', '--', 'd/nnn', 'ü ✓\n.txt', longName())
  const unseen = ['d/nnn', longName(), 'ü ✓\n.txt']
  const plain = await readIndexMarks(root, join(root, '.git'))
  assert.deepEqual([plain?.unseen.toSorted(), plain?.submodules], [unseen.toSorted(), ['sub module']])
  assert.deepEqual(await readIndexMarks(root, undefined), plain, 'as git tells it')
  git('update-index', '--skip-worktree', '--', 'd/n')
  const marked = await readIndexMarks(root, join(root, '.git'))
  assert.ok(marked?.unseen.includes('d/n'), 'version 3')
  git('update-index', '--index-version', '4')
  assert.deepEqual(await readIndexMarks(root, join(root, '.git')), marked)
  git('update-index', '--index-version', '2', '--no-skip-worktree', '--', 'd/n')
  git('update-index', '--split-index')
  assert.deepEqual((await readIndexMarks(root, join(root, '.git')))?.unseen.toSorted(), unseen.toSorted())
  writeFileSync(join(root, '.git', 'index'), 'DIRC damaged')
  assert.equal(await readIndexMarks(root, join(root, '.git')), undefined)
})

test('refs are read from their files, packed or not, and left to git where they are something else', async t => {
  const root = gitProject(t)
  const git = (...args: string[]) => plainGit(root, root, args)
  const common = join(root, '.git')
  const oid = git('rev-parse', 'HEAD').trim()
  git('branch', 'deep/er')
  git('branch', 'er')
  const names = ['refs/heads/main', 'refs/heads/deep/er', 'refs/heads/er', 'refs/heads/none']
  const all = new Map(names.slice(0, 3).map(name => [name, oid]))
  assert.deepEqual(readRefs(common, names), all)
  git('pack-refs', '--all')
  assert.deepEqual(readRefs(common, names), all)
  {
    using _none = setShortRunner(() => Promise.reject(new Error('git was started')))
    assert.deepEqual(await readBranchTips(root, ['main', 'none']), new Map([['main', oid]]))
  }
  git('symbolic-ref', 'refs/heads/other', 'refs/heads/main')
  assert.equal(readRefs(common, ['refs/heads/other']), undefined)
  truncateSync(join(common, 'packed-refs'), 20_000_000)
  assert.equal(readRefs(common, names), undefined, 'a large file is left to git')
  rmSync(join(common, 'packed-refs'))
  mkdirSync(join(common, 'reftable'))
  assert.equal(readRefs(common, names), undefined)
})
