import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { copyInside, openRealFolder, removeInside, writeInside } from '../../src/base/real-folder.ts'
import { tempDir } from '../support/world.ts'

/** A folder to work in, and one elsewhere that must stay as it is. */
function folders(t: TestContext) {
  const [root, victim] = [join(tempDir(t), 'root'), join(tempDir(t), 'victim')]
  mkdirSync(root)
  mkdirSync(join(victim, '.cache'), { recursive: true })
  writeFileSync(join(victim, '.cache', 'key'), 'precious')
  const isWhole = () => {
    assert.deepEqual(readdirSync(victim), ['.cache'])
    assert.equal(readFileSync(join(victim, '.cache', 'key'), 'utf8'), 'precious')
  }
  return { root, victim, isWhole }
}

test('a removal stops at a link: as the leaf, above the leaf, deep below, and as the root itself', async t => {
  const { root, victim, isWhole } = folders(t)
  symlinkSync(victim, join(root, 'node_modules'))
  assert.equal(await removeInside(root, 'node_modules/.cache'), false)
  assert.equal(await removeInside(root, 'node_modules/.cache/key'), false)
  isWhole()
  assert.equal(await removeInside(join(root, 'node_modules'), '.cache'), false)
  mkdirSync(join(root, 'a/b/c'), { recursive: true })
  symlinkSync(victim, join(root, 'a/b/c/out'))
  writeFileSync(join(root, 'a/b/file'), '')
  assert.equal(await removeInside(root, 'a'), true)
  assert.equal(await removeInside(root, 'node_modules'), true)
  assert.deepEqual(readdirSync(root), [])
  isWhole()
})

test('a path never leads out of its root, and a missing one is no error', async t => {
  const { root, victim, isWhole } = folders(t)
  assert.equal(await removeInside(root, `../../${victim.split('/').slice(-2).join('/')}/.cache`), false)
  assert.equal(await removeInside(root, 'missing/x'), false)
  assert.equal(await removeInside(root, 'missing'), true)
  isWhole()
})

test('a folder that is held stays the same when a link takes its name', {
  skip: process.platform !== 'linux',
}, async t => {
  const { root, victim, isWhole } = folders(t)
  mkdirSync(join(root, 'node_modules/.cache'), { recursive: true })
  await using folder = await openRealFolder(root, 'node_modules')
  assert.ok(folder)
  renameSync(join(root, 'node_modules'), join(root, 'moved'))
  symlinkSync(victim, join(root, 'node_modules'))
  writeFileSync(folder.at('new'), 'x')
  assert.deepEqual(readdirSync(join(root, 'moved')), ['.cache', 'new'])
  isWhole()
})

test('what is swapped for a link during a removal is not followed', async t => {
  const { root, victim, isWhole } = folders(t)
  for (let round = 0; round < 20; round += 1) {
    mkdirSync(join(root, 'a/b/.cache'), { recursive: true })
    for (let file = 0; file < 20; file += 1) writeFileSync(join(root, `a/b/.cache/${file}`), '')
    const removing = removeInside(root, 'a').catch(() => undefined)
    for (let turn = 0; turn < round; turn += 1) await new Promise(setImmediate)
    try {
      renameSync(join(root, 'a/b'), join(root, 'aside'))
      symlinkSync(victim, join(root, 'a/b'))
    } catch {
      // It was quicker.
    }
    await removing
    isWhole()
    for (const name of readdirSync(root)) await removeInside(root, name)
  }
})

test('files and links are copied and written beside links, never through them', async t => {
  const { root, victim, isWhole } = folders(t)
  const from = { root: tempDir(t), path: 'from' }
  writeFileSync(join(from.root, 'from'), 'new')
  symlinkSync(victim, join(root, 'linked'))
  assert.equal(await copyInside(from, { root, path: 'linked/deep/file' }), false)
  assert.equal(await writeInside(root, 'linked/file', 'new'), false)
  assert.equal(await copyInside(from, { root, path: 'a/b/file' }), true)
  assert.equal(readFileSync(join(root, 'a/b/file'), 'utf8'), 'new')
  assert.equal(await copyInside({ root, path: 'linked' }, { root, path: 'a/link' }), true)
  assert.equal(readlinkSync(join(root, 'a/link')), victim)
  symlinkSync(join(victim, '.cache/key'), join(root, '.git'))
  await assert.rejects(copyInside(from, { root, path: '.git' }))
  assert.equal(await writeInside(root, '.git', 'new'), true)
  assert.equal(readFileSync(join(root, '.git'), 'utf8'), 'new')
  isWhole()
  assert.ok(!existsSync(join(victim, 'deep')))
})

test('a folder is copied with its links, times and modes, and a pipe in it ends the copy instead of hanging it', async t => {
  const { root } = folders(t)
  mkdirSync(join(root, 'from/deep'), { recursive: true })
  writeFileSync(join(root, 'from/deep/run'), 'x', { mode: 0o755 })
  utimesSync(join(root, 'from/deep/run'), 1_000, 2_000)
  symlinkSync('deep/run', join(root, 'from/link'))
  chmodSync(join(root, 'from/deep'), 0o750)
  assert.equal(await copyInside({ root, path: 'from' }, { root, path: 'to' }), true)
  const { mode, mtimeMs } = statSync(join(root, 'to/deep/run'))
  assert.deepEqual([mode & 0o777, mtimeMs], [0o755, 2_000_000])
  assert.equal(statSync(join(root, 'to/deep')).mode & 0o777, 0o750)
  assert.equal(readlinkSync(join(root, 'to/link')), 'deep/run')
  await assert.rejects(copyInside({ root, path: 'from' }, { root, path: 'to' }), { code: 'EEXIST' })
  execFileSync('mkfifo', [join(root, 'from/pipe')])
  await assert.rejects(copyInside({ root, path: 'from' }, { root, path: 'third' }), /no ordinary file/)
})

for (const side of ['from', 'to'])
  test(`a folder that is swapped for a link while it is copied is not followed: ${side}`, {
    skip: process.platform !== 'linux',
  }, async t => {
    const { root, victim, isWhole } = folders(t)
    mkdirSync(join(root, 'from/deep/.cache'), { recursive: true })
    writeFileSync(join(root, 'from/deep/.cache/key'), 'harmless')
    const swap = () => {
      renameSync(join(root, side, 'deep'), join(root, 'aside'))
      symlinkSync(victim, join(root, side, 'deep'))
    }
    // It is asked about each entry in the moment before that is copied.
    const isCopied = (name: string) => {
      if (name === '.cache') swap()
      return true
    }
    await copyInside({ root, path: 'from' }, { root, path: 'to' }, { isCopied })
    isWhole()
    const copied = join(root, side === 'to' ? 'aside' : 'to/deep', '.cache/key')
    assert.equal(readFileSync(copied, 'utf8'), 'harmless')
  })

test('a folder is removed with files and folders in it whose names are not UTF-8', async t => {
  const root = tempDir(t)
  const odd = (name: string) => Buffer.concat([Buffer.from(`${root}/out/`), Buffer.from(name, 'latin1')])
  mkdirSync(join(root, 'out'))
  mkdirSync(odd('\xff'))
  writeFileSync(odd('\xff/\xe9.txt'), 'x\n')
  assert.equal(await removeInside(root, 'out'), true)
  assert.deepEqual(readdirSync(root), [])
})
