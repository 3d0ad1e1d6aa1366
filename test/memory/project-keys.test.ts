import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { projectKeys } from '../../src/memory/project-keys.ts'
import { git } from '../../src/workspace/git/git.ts'
import { tempDir } from '../support/world.ts'

test('a project in git keeps its memory when it is moved or cloned, and its first commit does not take it away', async t => {
  const folder = tempDir(t)
  const project = join(folder, 'one')
  mkdirSync(join(project, 'part'), { recursive: true })
  const run = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: project, stdio: 'pipe' })
  run('init', '-q')
  const keysOf = (path: string) => projectKeys(path, git, { in: join(folder, 'memory') })
  const before = await keysOf(project)
  assert.match(before[0], /^dir-[0-9a-f]{16}$/)
  run('commit', '-q', '--allow-empty', '-m', 'first')
  run('commit', '-q', '--allow-empty', '-m', 'second')
  const [key, ...others] = await keysOf(project)
  assert.match(key, /^git-[0-9a-f]{16}$/)
  assert.deepEqual(others, before, 'what was learned before the first commit is still read')
  assert.notEqual((await keysOf(join(project, 'part')))[0], key, 'a part of a repository is a project of its own')
  const clone = join(folder, 'clone')
  run('clone', '-q', project, clone)
  assert.equal((await keysOf(clone))[0], key)
  const shallow = join(folder, 'shallow')
  run('clone', '-q', '--depth', '1', `file://${project}`, shallow)
  assert.match((await keysOf(shallow))[0], /^dir-/, 'where the history is cut short, nobody knows its first commit')
  const moved = join(folder, 'moved')
  renameSync(project, moved)
  assert.equal((await keysOf(moved))[0], key)
  cpSync(moved, project, { recursive: true })
  assert.equal((await keysOf(project))[0], key)
})

test('a project that takes on the history of another has only the memory of its folder, also where that history is forged', async t => {
  const folder = tempDir(t)
  const kept = { in: join(folder, 'memory') }
  const made = ['victim', 'evil', 'new'].map(name => {
    const project = join(folder, name)
    mkdirSync(project)
    const run = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: project, encoding: 'utf8' })
    run('init', '-q')
    if (name !== 'new') run('commit', '-q', '--allow-empty', '-m', name)
    return { project, run }
  })
  const [victim, evil, fresh] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0]]
  const [wanted] = await projectKeys(victim.project, git, kept)
  const own = await projectKeys(evil.project, git, kept)
  const take = ({ project, run }: (typeof made)[0]) => {
    rmSync(join(project, '.git'), { recursive: true })
    run('clone', '-q', '--bare', victim.project, join(project, '.git'))
    run('config', 'core.bare', 'false')
  }
  take(evil)
  assert.deepEqual(await projectKeys(evil.project, git, { ...kept, onlyReads: true }), own.slice(1))
  assert.deepEqual(await projectKeys(evil.project, git, kept), own.slice(1), 'to look at it does not change that')
  take(fresh)
  const first = await projectKeys(fresh.project, git, { ...kept, onlyReads: true })
  assert.equal(first[0], wanted, 'a folder that is seen for the first time is a clone')
})
