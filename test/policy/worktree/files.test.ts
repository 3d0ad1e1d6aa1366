import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import { inWorktree, TOP } from './in-worktree.ts'

const { ask, command, isRefused } = inWorktree()

const SHARED = [
  `${TOP}/.git`,
  `${TOP}/.GIT`,
  '.git',
  './.git',
  'src/../.git',
  `${TOP}/.perpetualcc/task.json`,
  '.perpetualcc/task.json',
  '/home/u/shop/.git/config',
  '/home/u/shop/.git/hooks/pre-commit',
  '/home/u/shop/.git/worktrees/t-1a2b3c/HEAD',
  '/home/u/shop/src/a.ts',
  '/home/u/.perpetualcc/worktrees/shop/t-999999/src/a.ts',
  `${TOP}/../t-999999/a.ts`,
]

for (const path of SHARED)
  test(`no tool and no redirect of a session in a worktree writes ${path}`, () => {
    for (const tool of ['Write', 'Edit', 'MultiEdit'])
      assert.ok(isRefused(ask(tool, { file_path: path.startsWith('/') ? path : `${TOP}/${path}` })), tool)
    for (const line of [
      `echo x > ${path}`,
      `echo x >> ${path}`,
      `tee ${path}`,
      `cp a ${path}`,
      `mv a ${path}`,
      `rm ${path}`,
    ])
      assert.ok(isRefused(command(line)), line)
  })

test('the worktree itself and what holds it is neither moved nor deleted', () => {
  for (const line of [
    `rm -rf ${TOP}`,
    'rm -rf .',
    'rm -rf ..',
    `mv ${TOP} /tmp/x`,
    'rm -rf /home/u/.perpetualcc/worktrees',
  ])
    assert.ok(isRefused(command(line)), line)
})

test('files of the worktree are as before', () => {
  for (const path of ['src/a.ts', '.github/workflows/a.yml', '.gitignore', 'package.json', '.perpetualcc/notes/a.md']) {
    const input = { file_path: `${TOP}/${path}` }
    // The same as in a project that is in no folder of pcc.
    const apart = ask('Write', { file_path: `/proj/${path}` }, { project: '/proj', worktree: undefined })
    assert.equal(ask('Write', input).risk, apart.risk, path)
    assert.equal(ask('Write', input).reasons[0]?.code, apart.reasons[0]?.code, path)
  }
  assert.equal(ask('Write', { file_path: `${TOP}/src/a.ts` }).risk, 'LOW')
  assert.ok(!isRefused(command('cat /home/u/shop/src/a.ts')), 'reading is no change')
  assert.ok(!isRefused(ask('Read', { file_path: `${TOP}/.git` })))
})

test('a link of the worktree that leads to the shared git directory is followed', async t => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'pcc-boundary-')))
  t.after(() => rmSync(base, { recursive: true, force: true }))
  const top = join(base, 'trees', 't-1')
  const repository = join(base, 'main', '.git')
  mkdirSync(join(top, 'src'), { recursive: true })
  mkdirSync(repository, { recursive: true })
  writeFileSync(join(repository, 'config'), '')
  symlinkSync(repository, join(top, 'src', 'data'))
  using classifier = openClassifier({ deadlineMs: 20_000 })
  const real = inWorktree(classifier)
  const place = { project: top, worktree: { top, repository } }
  assert.ok(real.isRefused(real.ask('Write', { file_path: join(top, 'src/data/config') }, place)))
  assert.ok(real.isRefused(real.command('echo x > src/data/hooks/post-commit', place)))
  assert.ok(!real.isRefused(real.ask('Write', { file_path: join(top, 'src/other') }, place)))
  // A long command is read in the worker, so the boundary must reach it.
  const long = `echo '${'a'.repeat(5_000)}'; git push`
  assert.ok(real.isRefused(await real.command(long, place)))
})
