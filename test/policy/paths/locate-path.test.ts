import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isInside } from '../../../src/base/is-inside.ts'
import { createFence, type Fence, locatePath } from '../../../src/policy/paths/fence.ts'

const LINKS: Record<string, string> = {
  '/proj/out': '/else/deep',
  '/proj/in': '/proj/src/deep',
  '/proj/key': '/h/.ssh',
}

/** A disk with some links; paths that begin with `/lost` cannot be followed. */
function realPath(path: string): string | undefined {
  if (path.startsWith('/lost') || path.startsWith('/proj/lost')) return undefined
  const link = Object.keys(LINKS).find(from => path === from || path.startsWith(`${from}/`))
  return link === undefined ? path : `${LINKS[link]}${path.slice(link.length)}`
}
const fence: Fence = { boundary: '/proj', home: '/h', safe: ['src'], realPath }
const place = (path: string, cwd = '/proj') => locatePath(path, cwd, fence)
const where = (path: string, cwd?: string) => place(path, cwd).where

test('a path is inside when it leads below the project, from wherever it is read', () => {
  assert.deepEqual(place('src/a.ts'), { where: 'inside', path: '/proj/src/a.ts', relative: 'src/a.ts' })
  assert.deepEqual(place('a.ts', '/proj/src'), { where: 'inside', path: '/proj/src/a.ts', relative: 'src/a.ts' })
  assert.deepEqual(place('.'), { where: 'inside', path: '/proj', relative: '' })
  assert.equal(where('/proj/src/../a'), 'inside')
  assert.equal(where('./src/./a', '/proj'), 'inside')
  assert.equal(where('src//a/../b'), 'inside')
  assert.equal(where('..dots/a'), 'inside')
  assert.equal(where('a/..b'), 'inside')
  assert.equal(where('...'), 'inside')
})

test('a path is outside when it leads anywhere else, and says where', () => {
  assert.deepEqual(place('../x'), { where: 'outside', path: '/x' })
  assert.deepEqual(place('a', '/elsewhere'), { where: 'outside', path: '/elsewhere/a' })
  assert.deepEqual(place('out/x'), { where: 'outside', path: '/else/deep/x' })
  assert.equal(where('/proj-other/a'), 'outside')
  assert.equal(where('/pro'), 'outside')
  assert.equal(where('/'), 'outside')
})

test('home is spelled in three ways, alone and as a beginning', () => {
  for (const home of ['~', '$HOME', '${HOME}']) {
    assert.deepEqual(place(home), { where: 'outside', path: '/h' }, home)
    assert.deepEqual(place(`${home}/a\nb`.replace('\n', '/')), { where: 'outside', path: '/h/a/b' }, home)
    assert.deepEqual(place(`x/${home}/a`), { where: 'inside', path: `/proj/x/${home}/a`, relative: `x/${home}/a` })
  }
})

test('a step up from a link is judged both as a program tidies it and as the system walks it', () => {
  assert.deepEqual(
    place('out/../x'),
    { where: 'outside', path: '/else/x' },
    'the system leaves the folder of the target',
  )
  assert.deepEqual(place('in/../x'), { where: 'strange', why: 'it can be read in two ways', lost: true })
  assert.deepEqual(place('in/../../../x'), { where: 'outside', path: '/x' })
  assert.deepEqual(place('key/../id', '/proj'), { where: 'outside', path: '/h/id' })
  assert.deepEqual(place('/proj/src/../src/a'), { where: 'inside', path: '/proj/src/a', relative: 'src/a' })
  assert.deepEqual(place('src/..', '/proj'), { where: 'inside', path: '/proj', relative: '' })
})

test('of two readings that both lead out, the one at a secret is told', () => {
  const links: Record<string, string> = { '/proj/a': '/h/.ssh/deep' }
  const follow = (path: string) => links[path] ?? path
  const two = (path: string) => locatePath(path, '/proj', { ...fence, realPath: follow })
  assert.deepEqual(two('a/../../x'), { where: 'outside', path: '/x' })
  assert.deepEqual(two('a/../x'), { where: 'outside', path: '/h/.ssh/x' })
  assert.deepEqual(two('../q/a/../../proj/a/../x'), { where: 'outside', path: '/h/.ssh/x' })
})

test('what cannot be followed leads nowhere that can be told, at any step', () => {
  const lost = { where: 'strange', why: 'it is not known where it leads', lost: true }
  assert.deepEqual(place('/lost/x'), lost)
  assert.deepEqual(place('lost'), lost)
  assert.deepEqual(place('lost/../src/a'), lost)
  assert.deepEqual(place('lost/../../proj/a'), lost)
})

test('a spelling that the agent may read otherwise is strange, and the reason is named', () => {
  const rows: [RegExp, string[]][] = [
    [/empty/, ['']],
    [/control/, ['a\nb', 'a\0', '\x1fa', 'a\x7fb']],
    [/space/, [' a', 'a ', '\u00a0a']],
    [/cannot be seen/, ['a\u200bb', 'a\u2028b', 'a\u202eb']],
    [/backslash/, ['a\\b', 'C:\\x']],
    [/another user/, ['~root', '~root/x', '~.']],
    [/variable/, ['$X/a', '$HOMER/a', '${X}/a', 'a/$(id)', 'a/${X}', '%USERPROFILE%/a', 'a/%x%']],
    [/address/, ['file:///etc/passwd', 'https://a/b', 'c:x', 'git+ssh://h/a', 'a.b-c:d', 'C:d']],
  ]
  for (const [why, paths] of rows)
    for (const path of paths) {
      const found = place(path)
      assert.equal(found.where, 'strange', JSON.stringify(path))
      assert.match(found.where === 'strange' ? found.why : '', why, JSON.stringify(path))
      assert.ok(!('lost' in found), JSON.stringify(path))
    }
})

test('a sign that means nothing special leaves a path ordinary', () => {
  const ordinary = [
    'a~b',
    'a/~root',
    'a b',
    '100%',
    '%',
    'a%-%',
    'a$',
    'a/$id.ts',
    'a/$_b',
    '$1',
    'a:/b',
    '/proj/a:b',
    '1:x',
    'a$5/b',
    'src/x:y',
  ]
  for (const path of ordinary) assert.equal(where(path), 'inside', path)
})

test('a folder holds itself and what is below it, not what only begins with its name', () => {
  const rows: [string, string, boolean][] = [
    ['/a', '/a', true],
    ['/a/b', '/a', true],
    ['/a/b/c', '/a', true],
    ['/ab', '/a', false],
    ['/', '/a', false],
    ['/b', '/a', false],
    ['/a', '/', true],
    ['/a/b', '/a/', true],
    ['/a/../b', '/a', false],
    ['/a/..', '/a', false],
    ['/a/b/..', '/a', true],
    ['/a/b/../c', '/a', true],
    ['/a/..b', '/a', true],
    ['/a/b/../..', '/a', false],
    ['/a/b/../../a', '/a', true],
  ]
  for (const [path, folder, inside] of rows) assert.equal(isInside(path, folder), inside, `${path} in ${folder}`)
})

test('a path is followed on the disk once in a request, and after many nothing more is followed', () => {
  const seen: string[] = []
  const once = createFence({ boundary: '/p', home: '/h', safe: [] }, path => {
    seen.push(path)
    return path === '/no' ? undefined : path
  })
  assert.deepEqual([once.boundary, once.home], ['/p', '/h'])
  for (let round = 0; round < 3; round++)
    assert.deepEqual([once.realPath('/a'), once.realPath('/no')], ['/a', undefined])
  assert.deepEqual(seen, ['/a', '/no'])
  for (let count = 2; count < 256; count++) assert.equal(once.realPath(`/${count}`), `/${count}`)
  assert.equal(once.realPath('/one-too-many'), undefined)
  assert.equal(once.realPath('/a'), '/a')
  assert.equal(seen.length, 256)
})
