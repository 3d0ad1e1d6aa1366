import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Assessment } from '../../src/domain/assessment.ts'
import { classify } from '../../src/policy/classify/classify.ts'

const assess = (tool: string, input: unknown, more: object = {}) =>
  classify({ tool, input, project: '/proj', home: '/home/u', ...more }, { realPath: path => path }) as Assessment

test('input of another shape is never LOW', () => {
  const odd: [string, unknown][] = [
    ['Bash', undefined],
    ['Bash', null],
    ['Bash', 'ls'],
    ['Bash', []],
    ['Bash', {}],
    ['Bash', { command: ['ls'] }],
    ['Read', { file_path: 5 }],
    ['Write', { path: 'src/a.ts' }],
    ['Glob', { pattern: 5 }],
    ['Grep', { path: {} }],
    ['WebFetch', {}],
    ['TodoWrite', 'x'],
    ['toString', {}],
    ['__proto__', {}],
  ]
  for (const [tool, input] of odd) assert.notEqual(assess(tool, input).risk, 'LOW', `${tool} ${JSON.stringify(input)}`)
})

test('a server is ours by who started it, never by its name', () => {
  assert.equal(assess('mcp__pcc__search', {}).risk, 'MEDIUM')
  assert.equal(assess('mcp__pcc__search', {}, { ownServers: ['pcc'] }).risk, 'LOW')
  assert.equal(assess('mcp__pcc-evil__search', {}, { ownServers: ['pcc'] }).risk, 'MEDIUM')
  assert.equal(assess('mcp__x__delete_repository', {}).risk, 'HIGH')
  assert.equal(assess('mcp__x__deleteRepository', {}).risk, 'HIGH')
})

test('a search is LOW anywhere but at secrets', () => {
  assert.equal(assess('Grep', { pattern: 'rm -rf', path: '/usr/include' }).risk, 'LOW')
  assert.equal(assess('Glob', { pattern: '**/*.ts' }).risk, 'LOW')
  assert.equal(assess('Grep', { pattern: '.', glob: '.env*' }).risk, 'HIGH')
  for (const path of ['/', '/home', '/proc', '/proc/1', '/home/u', '/home/u/'])
    assert.equal(assess('Grep', { pattern: 'token', path }).risk, 'HIGH', path)
  assert.equal(assess('Grep', { pattern: 'token', path: '/home/u/.config' }).reasons[0]?.code, 'read.hidden')
  assert.equal(assess('Glob', { pattern: '*.ts', path: '/home/u' }).risk, 'LOW')
  assert.equal(assess('Grep', { pattern: '.', path: '~/.ssh' }).risk, 'HIGH')
  assert.equal(assess('Grep', { pattern: '.', glob: '.env' }).risk, 'HIGH')
  assert.equal(assess('Grep', { pattern: '.', glob: '{.env,*.ts}' }).risk, 'HIGH')
  assert.equal(assess('Grep', { pattern: '.', glob: '*.{ts,tsx}' }).risk, 'LOW')
})

test('reading a page is MEDIUM, and what hands out credentials or is no page is HIGH', () => {
  const risk = (url: string) => assess('WebFetch', { url, prompt: 'x' }).risk
  assert.equal(risk('https://docs.example.com/a'), 'MEDIUM')
  assert.equal(risk('http://169.254.169.254/latest/meta-data'), 'HIGH')
  assert.equal(risk('file:///etc/passwd'), 'HIGH')
  assert.equal(risk('https://user:pw@example.com'), 'HIGH')
  assert.equal(risk('no address'), 'MEDIUM')
})

test('an address is inside the network however it is spelled, and a public name is not', () => {
  const code = (url: string) => assess('WebFetch', { url, prompt: 'x' }).reasons[0]?.code
  for (const url of [
    'http://localhost:6379/',
    'http://localhost./',
    'http://api.localhost/',
    'http://router/',
    'http://2130706433/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[fd12::1]/',
    'http://100.64.0.1/',
    'http://10.0.0.1.nip.io/',
  ])
    assert.equal(code(url), 'net.inside', url)
  for (const url of ['http://metadata.google.internal/', 'http://[::ffff:169.254.169.254]/', 'http://168.63.129.16/'])
    assert.equal(code(url), 'net.metadata', url)
  for (const url of [
    'https://fdic.gov/',
    'https://fcbarcelona.com/',
    'https://10.example.com/',
    'https://metadata.org/',
  ])
    assert.equal(code(url), 'net.get', url)
  assert.equal(code(`https://example.com/${'a'.repeat(900)}`), 'net.long')
})

test('one file has one normal form however it is spelled', () => {
  const form = (file_path: string) => assess('Write', { file_path }).normalised
  assert.equal(form('/proj/src/../README.md'), form('./README.md'))
  assert.notEqual(form('README.md'), form('docs/README.md'))
})
