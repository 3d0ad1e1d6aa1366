import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { hashObjects, whyObjectsForged } from '../../../src/workspace/git/check-objects.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { type MergeFixture, openMergeFixture } from './merge-fixture.ts'

/** Puts another content under the id of an object, as an agent can in the folder of objects that all checkouts share. */
function forge({ project }: MergeFixture, id: string, content: Buffer, kind = 'blob'): void {
  const file = join(project, '.git', 'objects', id.slice(0, 2), id.slice(2))
  rmSync(file, { force: true })
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, deflateSync(Buffer.concat([Buffer.from(`${kind} ${content.length}\0`), content])))
}

test('a file whose object was exchanged after the gates ran does not land', async t => {
  const world = await openMergeFixture(t)
  const worktree = await world.work('t-000001', { 'a.txt': 'good\n' })
  const [before, work] = [world.tip('main'), world.tip('pcc/t-000001')]
  assert.equal(await whyObjectsForged(world.queue.repository, before, work), undefined)
  assert.equal(await whyObjectsForged(world.queue.repository, before, before), undefined, 'there is nothing new')
  forge(world, world.tip('pcc/t-000001:a.txt'), Buffer.from('evil\n'))
  await world.enqueue(worktree)
  await world.advance()
  const [notice] = world.told.filter(({ kind }) => kind !== 'verified')
  assert.match(notice?.kind === 'given_up' ? notice.why : '', /not what their ids say/)
  assert.equal(world.tip('main'), before)
  assert.equal(readFileSync(join(world.project, 'a.txt'), 'utf8'), 'one\ntwo\nthree\n')
})

test('a forged folder, commit or older file that the work moves is found, in new and in old commits', async t => {
  const world = await openMergeFixture(t, { files: { 'a/old.txt': 'old\n', 'b/x.txt': 'x\n' } })
  await world.work('t-000001', { 'a/old.txt': null, 'c/old.txt': 'old\n' })
  const [main, work] = [world.tip('main'), world.tip('pcc/t-000001')]
  const why = () => whyObjectsForged(world.queue.repository, main, work)
  const read = (kind: string, ref: string) => execGit(world, 'cat-file', kind, ref)
  for (const [kind, ref, other] of [
    ['blob', 'main:a/old.txt', Buffer.from('evil\n')],
    ['tree', 'main:b', read('tree', 'main:a')],
    ['tree', 'pcc/t-000001^{tree}', read('tree', 'main^{tree}')],
    ['commit', 'pcc/t-000001', Buffer.concat([read('commit', 'pcc/t-000001'), Buffer.from('more\n')])],
  ] as const) {
    const id = world.tip(ref)
    const right = read(kind, id)
    assert.equal(await why(), undefined, ref)
    forge(world, id, other, kind)
    assert.notEqual(await why(), undefined, ref)
    forge(world, id, right, kind)
  }
})

test('work that a repository would write as several packs is hashed as one', async t => {
  const world = await openMergeFixture(t)
  execGit(world, 'config', 'pack.packSizeLimit', '1m')
  await world.work('t-000001', {
    'a.bin': randomBytes(900_000).toString('base64'),
    'b.bin': randomBytes(900_000).toString('base64'),
  })
  assert.equal(await whyObjectsForged(world.queue.repository, world.tip('main'), world.tip('pcc/t-000001')), undefined)
})

function execGit({ project }: MergeFixture, ...args: string[]): Buffer {
  return execFileSync('git', args, { cwd: project, env: bareEnv(project) })
}

test('what one verification has hashed stays readable while another one begins a new folder', async t => {
  const world = await openMergeFixture(t)
  await world.work('t-000001', { 'a.txt': 'good\n' })
  const [main, work, run] = [world.tip('main'), world.tip('pcc/t-000001'), tempDir(t)]
  const hash = async () => {
    const hashed = await hashObjects(world.queue.repository, [main, work], run)
    return 'objects' in hashed ? hashed.objects.GIT_OBJECT_DIRECTORY : assert.fail(hashed.problem)
  }
  const first = await hash()
  for (let count = 0; count < 201; count++) writeFileSync(join(first, 'pack', `${count}.keep`), '')
  const second = await hash()
  assert.notEqual(second, first)
  for (const folder of [first, second]) {
    const env = { ...bareEnv(world.project), GIT_OBJECT_DIRECTORY: folder }
    assert.equal(
      execFileSync('git', ['show', `${work}:a.txt`], { cwd: world.project, env, encoding: 'utf8' }),
      'good\n',
    )
  }
  assert.equal(await hash(), second, 'it is used until it is full')
})
