import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fence } from '../../../src/policy/paths/fence.ts'
import { type Access, judgePath } from '../../../src/policy/paths/judge-path.ts'

const standard: Fence = {
  boundary: '/proj',
  home: '/h',
  safe: ['src', './lib/', '//gen//', ''],
  realPath: path => path,
}

function judged(path: string, access: Access, fence: Partial<Fence> = {}) {
  const { code, risk, text } = judgePath(path, access, { cwd: '/proj', fence: { ...standard, ...fence } })
  assert.ok(text.includes(' '), text)
  return `${risk} ${code}`
}

test('what is read is LOW anywhere, but for secrets, histories, raw devices and strange spellings', () => {
  const rows: [string, string][] = [
    ['src/a.ts', 'LOW read'],
    ['/usr/include/a.h', 'LOW read'],
    ['.git/config', 'LOW read'],
    ['.env', 'HIGH path.secret'],
    ['/h/.ssh/config', 'HIGH path.secret'],
    ['x\\.ssh\\config', 'HIGH path.secret'],
    ['x\\.env', 'HIGH path.secret'],
    ['/h/.bash_history', 'MEDIUM path.history'],
    ['/dev/sda', 'HIGH path.device'],
    ['/dev/nvme0n1', 'HIGH path.device'],
    ['/proj/dev/sda', 'LOW read'],
    ['/dev/null', 'LOW read'],
    ['/dev/tcp/h/80', 'HIGH net.raw'],
    ['/dev/udp/h/80', 'HIGH net.raw'],
    ['/proj/dev/tcp/h/80', 'LOW read'],
    ['/dev/tcp', 'LOW read'],
    ['a\\b', 'MEDIUM path.strange'],
    ['$X/a', 'MEDIUM path.strange'],
  ]
  for (const [path, expected] of rows) assert.equal(judged(path, 'read'), expected, path)
})

test('what is written is LOW in the safe folders, MEDIUM elsewhere inside and HIGH outside', () => {
  const rows: [string, string][] = [
    ['src/a.ts', 'LOW write.safe'],
    ['src', 'LOW write.safe'],
    ['lib/a', 'LOW write.safe'],
    ['gen/a', 'LOW write.safe'],
    ['srcs/a', 'MEDIUM write.project'],
    ['README.md', 'MEDIUM write.project'],
    ['docs/src/a', 'MEDIUM write.project'],
    ['../a', 'HIGH path.outside'],
    ['.env', 'HIGH path.secret'],
    ['a\\b', 'MEDIUM path.strange'],
    ['.git/config', 'HIGH path.git'],
    ['src/.git/config', 'HIGH path.git'],
    ['.github/workflows/a.yml', 'MEDIUM path.ci'],
    ['/else/.github/workflows/a.yml', 'HIGH path.outside'],
    ['/else/.git/config', 'HIGH path.git'],
    ['x\\.git\\config', 'HIGH path.git'],
    ['x\\.github\\workflows\\a', 'MEDIUM path.strange'],
  ]
  for (const [path, expected] of rows) assert.equal(judged(path, 'write'), expected, path)
})

test('a path that leads nowhere that can be told may be read with a question and not written', () => {
  const realPath = () => undefined
  assert.equal(judged('src/a.ts', 'write', { realPath }), 'HIGH path.strange')
  assert.equal(judged('src/a.ts', 'read', { realPath }), 'MEDIUM path.strange')
})

test('the safe folders of a setting may be spelled with slashes around them, and an empty one is none', () => {
  const safe = (folder: string, path: string) => judged(path, 'write', { safe: [folder] }) === 'LOW write.safe'
  for (const folder of ['a/b', './a/b', '/a/b', 'a/b/', '//a/b//', './/a/b']) assert.ok(safe(folder, 'a/b/c'), folder)
  for (const folder of ['', '/', './', '.', 'a/b/c/d', 'ab', 'b']) assert.ok(!safe(folder, 'a/b/c'), folder)
  assert.ok(!safe('', 'Stryker was here!/x'))
  assert.ok(safe('.a', '.a/b'))
})

test('in a project that is a home directory, or holds one, no folder is safe', () => {
  const wide = (boundary: string, home: string) =>
    judged(`${boundary}/src/a.ts`, 'write', { boundary, home }) === 'MEDIUM write.wide'
  assert.ok(wide('/h', '/h'))
  assert.ok(wide('/h', '/h/u'))
  assert.ok(!wide('/h', '/hu'))
  assert.ok(!wide('/h/u/proj', '/h/u'))
  assert.ok(!wide('/proj', '/x/proj'))
  assert.equal(judged('/src/a.ts', 'write', { boundary: '/', home: '/h' }), 'MEDIUM write.wide')
})

test('a reason names the path as it was asked for, and the part that is the secret where that is another', () => {
  const text = (path: string, access: Access = 'read') =>
    judgePath(path, access, { cwd: '/proj', fence: standard }).text
  assert.equal(text('.env'), '.env holds secrets')
  assert.equal(text('a/.env'), 'a/.env holds secrets (.env)')
  assert.match(text('~/.bash_history'), /^~\/\.bash_history is what a person typed/)
  assert.match(text('a\\b'), /^the path a\\b is strange: it holds a backslash$/)
  assert.match(text('.git/x', 'write'), /^\.git\/x: it is git's own/)
  assert.match(text('../a', 'write'), /^\/a is outside the project$/)
})
