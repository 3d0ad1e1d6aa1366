import assert from 'node:assert/strict'
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { resolveRealPath } from '../../../src/policy/paths/fence.ts'
import { tempDir } from '../../support/world.ts'

function disk(t: TestContext): string {
  const root = realpathSync(tempDir(t))
  mkdirSync(join(root, 'a/b'), { recursive: true })
  writeFileSync(join(root, 'a/file'), 'x')
  return root
}

test('a path is followed to its end, whether that exists or not', t => {
  const root = disk(t)
  symlinkSync('a', join(root, 'link'))
  symlinkSync('../a/new/deep', join(root, 'a/dangling'))
  const rows: [string, string][] = [
    ['a/b', 'a/b'],
    ['link/b', 'a/b'],
    ['link/not/yet', 'a/not/yet'],
    ['a/dangling', 'a/new/deep'],
    ['a/dangling/x/y', 'a/new/deep/x/y'],
    ['link/dangling', 'a/new/deep'],
    ['none', 'none'],
  ]
  for (const [path, end] of rows) assert.equal(resolveRealPath(join(root, path)), join(root, end), path)
  assert.equal(resolveRealPath('/'), '/')
})

test('a loop, a file used as a folder and a very long chain cannot be told', t => {
  const root = disk(t)
  symlinkSync('loop', join(root, 'loop'))
  symlinkSync('two', join(root, 'one'))
  symlinkSync('one/x', join(root, 'two'))
  for (const path of ['loop', 'loop/x', 'one', 'one/y', 'two/z', 'a/file/x', 'a/file/x/y', 'a/\0'])
    assert.equal(resolveRealPath(join(root, path)), undefined, path)
})

test('links that dangle one into another are followed so far and no further', t => {
  const root = disk(t)
  const chain = (length: number) => {
    for (let step = 0; step < length; step++) symlinkSync(`${length}-${step + 1}`, join(root, `${length}-${step}`))
    return resolveRealPath(join(root, `${length}-0`))
  }
  assert.equal(chain(5), join(root, '5-5'))
  assert.equal(chain(30), join(root, '30-30'))
  assert.equal(chain(300), undefined)
})

test('a path as deep as there are steps is followed, one deeper is not', t => {
  const root = disk(t)
  const deep = (levels: number) => join(root, ...Array.from({ length: levels }, () => 'n'))
  assert.equal(resolveRealPath(deep(199)), deep(199))
  assert.equal(resolveRealPath(deep(200)), undefined)
})
