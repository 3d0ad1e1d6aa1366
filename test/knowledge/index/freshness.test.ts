import assert from 'node:assert/strict'
import { mkdirSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { FreshnessCheck } from '../../../src/knowledge/index/freshness.ts'
import { gitProject } from '../../support/world.ts'
import { write } from './an-index.ts'

/** A complete look at a project that nobody has changed for a minute. */
function looked(t: TestContext, root: string, files: string[]): FreshnessCheck {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 })
  const check = new FreshnessCheck(root)
  check.begin().complete(files)
  assert.equal(check.isUnchanged(), true)
  t.mock.timers.reset()
  return check
}

const CHANGES: [what: string, change: (root: string) => void][] = [
  ['a changed file', root => write(root, 'src/a.ts', 'other\n')],
  ['a removed file', root => rmSync(join(root, 'src/a.ts'))],
  ['a file beside it', root => write(root, 'src/b.ts', '')],
  ['the first file of an empty folder', root => write(root, 'empty/b.ts', '')],
  ['the first file of a folder inside of folders without files', root => write(root, 'deep/er/est/b.ts', '')],
  ['the first note of a folder that has only ignored files', root => write(root, '.own/notes/a.md', '')],
]

for (const [what, change] of CHANGES)
  test(`${what} is noticed without asking git`, t => {
    const root = gitProject(t, { 'src/a.ts': '1\n' })
    for (const folder of ['empty', 'deep/er/est', '.own/notes']) mkdirSync(join(root, folder), { recursive: true })
    write(root, '.own/ignored', '')
    const check = looked(t, root, ['src/a.ts'])
    change(root)
    assert.equal(check.isUnchanged(), false)
  })

test('what is in node_modules, in the folder of git and in worktrees does not matter, and what changed in the moment of the look is looked at again', t => {
  const root = gitProject(t, { 'src/a.ts': '1\n' })
  mkdirSync(join(root, 'node_modules'))
  write(root, 'trees/one/.git', 'gitdir: elsewhere\n')
  mkdirSync(join(root, 'trees/one/src'))
  const check = looked(t, root, ['src/a.ts'])
  write(root, 'node_modules/x/index.js', '')
  write(root, '.git/some-lock', '')
  write(root, 'trees/one/src/a.ts', '')
  assert.equal(check.isUnchanged(), true)
  const inAMoment = new Date(Date.now() + 5_000)
  utimesSync(join(root, 'src/a.ts'), inAMoment, inAMoment)
  const now = new FreshnessCheck(root)
  now.begin().complete(['src/a.ts'])
  assert.equal(now.isUnchanged(), false)
})
