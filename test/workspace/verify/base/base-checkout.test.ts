import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { git } from '../../../../src/workspace/git/git.ts'
import { clearBases, openBase } from '../../../../src/workspace/verify/base/base-checkout.ts'
import { gitProject, tempDir } from '../../../support/world.ts'

test('a base checkout that a dead daemon left is cleared away, and its repository knows of no worktree any more', async t => {
  const top = gitProject(t)
  const runDir = tempDir(t)
  const head = (await git(top, ['rev-parse', 'HEAD'])).stdout.trim()
  const base = await openBase({ top, directory: top, base: head }, runDir, t.signal)
  assert.ok(base && existsSync(join(base.directory, 'README.md')))
  const worktrees = async () =>
    (await git(top, ['worktree', 'list', '--porcelain'])).stdout.match(/^worktree /gm)?.length
  assert.equal(await worktrees(), 2)
  await clearBases(runDir)
  assert.equal(existsSync(base.directory), false)
  assert.equal(await worktrees(), 1)
  await clearBases(runDir)
})
