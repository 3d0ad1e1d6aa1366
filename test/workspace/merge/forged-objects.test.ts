import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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

test('work after work is hashed into a folder that git can read without the repository, whatever the work does to files', async t => {
  const world = await openMergeFixture(t, { files: { 'a/b/c.txt': 'c\n', 'a/old.txt': 'old\n', 'top.txt': 'top\n' } })
  await world.work('t-000001', { 'a/b/c.txt': 'changed\n' })
  const run = tempDir(t)
  const branch = 'pcc/t-000001'
  const top = join(tempDir(t), 'aside')
  execGit(world, 'worktree', 'add', '-q', '--detach', top, branch)
  const inTop = (...args: string[]) => world.gitIn(top, ...args)
  const changes: (() => void)[] = [
    () => writeFileSync(join(top, 'bytes.bin'), randomBytes(5_000)),
    () => inTop('mv', 'a', 'moved'),
    () => inTop('rm', '-q', 'top.txt'),
    () => symlinkSync('moved/old.txt', join(top, 'link')),
    () => writeFileSync(Buffer.concat([Buffer.from(join(top, 'odd-')), Buffer.of(0xff)]), 'a name that is not UTF-8'),
    () => inTop('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},library`),
    () => writeFileSync(join(top, ':040000 040000 1 2 M'), 'a name like a line of git'),
    () => writeFileSync(join(top, 'large.txt'), 'x'.repeat(9_000_000)),
    () => inTop('commit', '-q', '--allow-empty', '-m', 'nothing new'),
  ]
  for (const [at, change] of changes.entries()) {
    change()
    inTop('add', '--all', ':!library')
    if (at < changes.length - 1) inTop('commit', '-q', '-m', `change ${at}`)
    if (at === 3) continue // the next one begins on work that was not hashed
    const [before, now] = ['HEAD~1', 'HEAD'].map(name => inTop('rev-parse', name).trim()) as [string, string]
    const hashed = await hashObjects(top, [before, now], run)
    if (!('objects' in hashed)) assert.fail(`${at}: ${hashed.problem}`)
    const env = { ...bareEnv(world.project), ...hashed.objects }
    const there = execFileSync('git', ['rev-list', '--objects', '--no-object-names', '--no-walk', before, now], {
      cwd: top,
      env,
    })
    const files = execFileSync('git', ['cat-file', '--batch-check'], { cwd: top, env, input: there })
    assert.doesNotMatch(files.toString(), /missing/, `${at}`)
    execFileSync('git', ['archive', '--output', join(run, 'all.tar'), now], { cwd: top, env })
    assert.equal(await whyObjectsForged(top, before, now), undefined, `${at}`)
  }
})

test('work that comes after hashed work is hashed too', async t => {
  const world = await openMergeFixture(t)
  await world.work('t-000001', { 'a.txt': 'good\n' })
  await world.work('t-000002', { 'b/c.txt': 'fine\n' })
  const [main, first, second] = ['main', 'pcc/t-000001', 'pcc/t-000002'].map(world.tip) as [string, string, string]
  const run = tempDir(t)
  const hash = (head: string) => hashObjects(world.queue.repository, [main, head], run)
  assert.ok('objects' in (await hash(first)))
  for (const [kind, ref, other] of [
    ['blob', 'pcc/t-000002:b/c.txt', Buffer.from('evil\n')],
    ['tree', 'pcc/t-000002:b', execGit(world, 'cat-file', 'tree', 'main^{tree}')],
    ['commit', 'pcc/t-000002', execGit(world, 'cat-file', 'commit', 'main')],
  ] as const) {
    const id = world.tip(ref)
    const right = execGit(world, 'cat-file', kind, id)
    forge(world, id, other, kind)
    const hashed = await hash(second)
    assert.match('problem' in hashed ? hashed.problem : 'nothing found', new RegExp(id), ref)
    forge(world, id, right, kind)
  }
  assert.ok('objects' in (await hash(second)))
})

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
