import assert from 'node:assert/strict'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { isInside } from '../../src/base/is-inside.ts'

const ROWS: [path: string, folder: string, inside: boolean][] = [
  ['/a', '/a', true],
  ['/a/', '/a', true],
  ['/a/b', '/a', true],
  ['/a/b', '/a/', true],
  ['/a/b/c.txt', '/a', true],
  ['/a/./b', '/a', true],
  ['/ab', '/a', false],
  ['/a-b/c', '/a', false],
  ['/', '/a', false],
  ['/a', '/', true],
  ['/', '/', true],
  ['/a/../b', '/a', false],
  ['/a/..', '/a', false],
  ['/a/b/../c', '/a', true],
  ['/a/../a/b', '/a', true],
  ['/a/...', '/a', true],
  ['/a/..b', '/a', true],
  ['/b/c', '/a/../b', true],
  ['/a/b', '/a/../b', false],
  ['a/b', '/a', false],
  ['../a', '/', false],
  ['/a/b', 'a', false],
  ['a/b', 'a', false],
  ['', '', false],
  ['/a/b\0/../../c', '/a', false],
  ['/A/b', '/a', false],
]

for (const [path, folder, inside] of ROWS) {
  test(`${JSON.stringify(path)} is ${inside ? '' : 'not '}inside ${JSON.stringify(folder)}`, () => {
    assert.equal(isInside(path, folder), inside)
  })
}

test('a path is inside a folder exactly when the folder is among its parents', () => {
  const name = fc.constantFrom('a', 'b', 'ab', '..', '.', '...', '..a')
  const path = fc.array(name, { maxLength: 5 }).map(names => `/${names.join('/')}`)
  fc.assert(
    fc.property(path, path, (one, folder) => {
      const parents = new Set<string>()
      for (let at = resolve(one); ; at = join(at, '..')) {
        parents.add(at)
        if (at === '/') break
      }
      assert.equal(isInside(one, folder), parents.has(resolve(folder)))
    }),
  )
})
