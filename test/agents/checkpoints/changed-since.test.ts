import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { changedSince, findModifiedFiles, hashFile } from '../../../src/agents/checkpoints/changed-files.ts'
import { scanChanged } from '../../../src/agents/checkpoints/scan.ts'
import type { Checkpoint } from '../../../src/domain/checkpoint.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { sampleCheckpoint } from './sample.ts'
import { timeAfter } from './time-after.ts'

/** A project whose files `written` are listed in a checkpoint that is taken now. */
async function taken(t: TestContext, written: Record<string, string>, others: Record<string, string> = {}) {
  const project = tempDir(t, 'pcc-project-')
  for (const [path, text] of Object.entries({ ...written, ...others })) {
    mkdirSync(join(project, path, '..'), { recursive: true })
    writeFileSync(join(project, path), text)
  }
  writeFileSync(join(project, 'last'), '')
  const now = await timeAfter(join(project, 'last'), tempDir(t))
  const { files } = await findModifiedFiles({ project, since: now, written: Object.keys(written) })
  return { project, checkpoint: sampleCheckpoint({ project_path: project, timestamp: now, modified_files: files }) }
}

const names = async (checkpoint: Checkpoint) =>
  (await changedSince(checkpoint)).map(({ path, how }) => `${path} ${how}`)

test('nothing has changed where nobody touched anything', async t => {
  const { checkpoint } = await taken(t, { 'a.ts': '1', 'deep/b.ts': '2' }, { 'other.ts': '3' })
  assert.equal(checkpoint.modified_files.length, 2)
  assert.deepEqual(await changedSince(checkpoint), [])
})

test('what a person changed, deleted or made while the session was parked is named', async t => {
  const { checkpoint, project } = await taken(
    t,
    { 'a.ts': '1', 'b.ts': '2', 'same.ts': '3', 'ghost.ts': '4' },
    { 'theirs.ts': 'old' },
  )
  const listed = checkpoint.modified_files.map(file => (file.path === 'ghost.ts' ? { ...file, hash: null } : file))
  writeFileSync(join(project, 'a.ts'), 'one')
  rmSync(join(project, 'b.ts'))
  writeFileSync(join(project, 'same.ts'), '3')
  writeFileSync(join(project, 'theirs.ts'), 'new')
  writeFileSync(join(project, 'new\nfile.ts'), 'new')
  assert.deepEqual(await names({ ...checkpoint, modified_files: listed }), [
    'a.ts changed',
    'b.ts deleted',
    'ghost.ts created',
    'new\nfile.ts created',
    'theirs.ts changed',
  ])
})

test('a change that sets its time back is seen, for the system keeps its own', async t => {
  const { checkpoint, project } = await taken(t, {}, { 'theirs.ts': 'old' })
  writeFileSync(join(project, 'theirs.ts'), 'new')
  utimesSync(join(project, 'theirs.ts'), 0, 0)
  assert.deepEqual(await names(checkpoint), ['theirs.ts changed'])
})

test('a file that became a link is changed, and what the link points to is never read', async t => {
  const { checkpoint, project } = await taken(t, { 'a.ts': '1', 'dir/b.ts': '2' })
  const outside = tempDir(t)
  writeFileSync(join(outside, 'a.ts'), '1')
  writeFileSync(join(outside, 'b.ts'), '2')
  rmSync(join(project, 'a.ts'))
  symlinkSync(join(outside, 'a.ts'), join(project, 'a.ts'))
  renameSync(join(project, 'dir'), join(project, 'old'))
  symlinkSync(outside, join(project, 'dir'))
  const changes = await names(checkpoint)
  assert.ok(changes.includes('a.ts changed'))
  assert.ok(changes.includes('dir/b.ts changed'), changes.join())
  assert.equal(await hashFile(project, 'dir/b.ts'), 'unreadable')
  assert.equal(await hashFile(project, '../x'), 'unreadable')
})

test('a link that was listed is the same as long as it points to the same place, whatever is there', async t => {
  const project = tempDir(t)
  const outside = tempDir(t)
  writeFileSync(join(outside, 'a'), '1')
  symlinkSync(join(outside, 'a'), join(project, 'link'))
  const { files } = await findModifiedFiles({ project, since: 0, written: [] })
  const timestamp = await timeAfter(join(outside, 'a'), tempDir(t))
  const checkpoint = sampleCheckpoint({ project_path: project, modified_files: files, timestamp })
  writeFileSync(join(outside, 'a'), 'two')
  assert.deepEqual(await names(checkpoint), [])
  rmSync(join(project, 'link'))
  symlinkSync(join(outside, 'b'), join(project, 'link'))
  assert.deepEqual(await names(checkpoint), ['link changed'])
})

test('links are not followed by the look through the project, be they loops or ways out', async t => {
  const project = tempDir(t)
  const outside = tempDir(t)
  writeFileSync(join(outside, 'secret.txt'), 'x')
  symlinkSync(project, join(project, 'loop'))
  symlinkSync(outside, join(project, 'way-out'))
  const { files, complete } = await scanChanged({ project, since: 0 })
  assert.deepEqual(files.map(({ path }) => path).sort(), ['loop', 'way-out'])
  assert.equal(complete, true)
})

test('a pipe is not waited for, and it costs only itself', async t => {
  const project = tempDir(t)
  execFileSync('mkfifo', [join(project, 'pipe')], { env: bareEnv(project) })
  writeFileSync(join(project, 'a.ts'), '1')
  assert.equal(await hashFile(project, 'pipe'), 'unreadable')
  const { files, leftOut } = await findModifiedFiles({ project, since: 0, written: ['pipe'] })
  assert.deepEqual(
    files.map(({ path }) => path),
    ['a.ts'],
  )
  assert.match(leftOut.join(), /1 changed files could not be read/)
})

test('a large file is told apart by its size, its time, its beginning and its end', async t => {
  const project = tempDir(t)
  const content = Buffer.alloc(33 * 1024 * 1024, 'x')
  const write = (name: string) => {
    writeFileSync(join(project, name), content)
    utimesSync(join(project, name), 1_000, 1_000)
  }
  write('a.bin')
  write('b.bin')
  content[content.length - 1] = 0
  write('c.bin')
  const [a, b, c] = await Promise.all(['a.bin', 'b.bin', 'c.bin'].map(name => hashFile(project, name)))
  assert.deepEqual(a, b)
  assert.notDeepEqual(a, c)
})

test('a project that is gone has lost every file, and nothing is thrown', async t => {
  const { checkpoint, project } = await taken(t, { 'a.ts': '1' })
  rmSync(project, { recursive: true })
  assert.deepEqual(await names(checkpoint), ['a.ts deleted'])
})
