import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Assessment } from '../../../src/domain/assessment.ts'
import { classify } from '../../../src/policy/classify/classify.ts'

const assess = (tool: string, input: unknown, more: object = {}) =>
  classify({ tool, input, project: '/proj', home: '/home/u', ...more }, { realPath: path => path }) as Assessment
function said(tool: string, input: unknown, more: object = {}): string {
  const { reasons } = assess(tool, input, more)
  return reasons.map(({ risk, code }) => `${risk} ${code}`).join(', ')
}

test("the agent's own bookkeeping is LOW, whatever is in it", () => {
  for (const tool of ['TodoWrite', 'Task', 'Agent', 'Skill', 'ToolSearch', 'BashOutput', 'ExitPlanMode', 'KillShell'])
    assert.equal(said(tool, { command: 'rm -rf /' }), 'LOW tool.own', tool)
})

test('each file tool names its file in its own field', () => {
  assert.equal(said('Read', { file_path: 'a' }), 'LOW read')
  assert.equal(said('LS', { path: '/home/u/.ssh' }), 'HIGH path.secret')
  assert.equal(said('NotebookRead', { notebook_path: 'a.ipynb' }), 'LOW read')
  assert.equal(said('NotebookRead', { file_path: '.env' }), 'HIGH path.secret')
  for (const tool of ['Write', 'Edit', 'MultiEdit'])
    assert.equal(said(tool, { file_path: 'a' }), 'MEDIUM write.project')
  assert.equal(said('NotebookEdit', { notebook_path: 'src/a.ipynb' }), 'LOW write.safe')
  assert.equal(said('NotebookEdit', { file_path: 'src/a.ipynb' }), 'LOW write.safe')
  assert.equal(said('NotebookEdit', { notebook_path: '/etc/x', file_path: 'src/a.ipynb' }), 'HIGH path.outside')
})

test('a call of another shape is unknown, and says what is wrong with it', () => {
  const rows: [string, unknown, RegExp][] = [
    ['Read', null, /input is no object/],
    ['Read', 'x', /input is no object/],
    ['Read', ['x'], /input is no object/],
    ['Read', undefined, /input is no object/],
    ['Read', {}, /names no file/],
    ['Read', { path: 'a' }, /names no file/],
    ['Read', { file_path: '' }, /path is no text/],
    ['Read', { file_path: 5 }, /path is no text/],
    ['NotebookEdit', { notebook_path: null, file_path: 'src/a' }, /path is no text/],
    ['Glob', { path: 5 }, /path is no text/],
    ['Glob', { pattern: 5 }, /pattern is no text/],
    ['Grep', { glob: {} }, /pattern is no text/],
    ['Bash', { command: 5 }, /command is no text/],
    ['Bash', {}, /command is no text/],
    ['Monitor', {}, /command is no text/],
    ['WebFetch', { url: 5 }, /address is no text/],
    ['Frob', {}, /Frob is not a tool/],
    ['constructor', {}, /constructor is not a tool/],
  ]
  for (const [tool, input, why] of rows) {
    const { reasons } = assess(tool, input)
    assert.deepEqual(
      [reasons[0]?.code, reasons[0]?.risk],
      ['tool.unknown', 'MEDIUM'],
      `${tool} ${JSON.stringify(input)}`,
    )
    assert.match(reasons[0]?.text ?? '', why)
  }
})

test('an unknown tool whose name sounds like destruction is HIGH', () => {
  for (const tool of [
    'DeleteFile',
    'delete',
    'file_delete',
    'file-remove',
    'x.drop',
    'a:purge',
    'fileDelete',
    'sendMail',
    'RunShell',
  ])
    assert.equal(said(tool, {}), 'HIGH tool.unknown', tool)
  for (const tool of ['reader', 'search', 'ListPages']) assert.equal(said(tool, {}), 'MEDIUM tool.unknown', tool)
})

test('a tool of a server is MEDIUM, ours is LOW by who started it, and destruction is HIGH', () => {
  const own = { ownServers: ['pcc', 'a__b'] }
  assert.equal(said('mcp__gh__list', {}), 'MEDIUM tool.server')
  assert.equal(said('mcp__gh__drop_table', {}), 'HIGH tool.server')
  assert.equal(said('mcp__gh__list__delete', {}), 'HIGH tool.server')
  assert.equal(said('mcp__delete__list', {}), 'MEDIUM tool.server', 'the name of a server says nothing')
  assert.equal(said('mcp__pcc__delete', {}, own), 'LOW tool.own')
  assert.equal(said('mcp__pcc__', {}, own), 'MEDIUM tool.unknown')
  assert.equal(said('mcp____x', {}, own), 'MEDIUM tool.unknown')
  assert.equal(said('xmcp__pcc__search', {}, own), 'MEDIUM tool.unknown')
  assert.equal(said('mcp__pcc__a\nb', {}, own), 'LOW tool.own')
})

test('a search reads as wide as its folder and its pattern', () => {
  assert.equal(said('Glob', { pattern: '**/*.ts' }), 'LOW read')
  assert.equal(said('Glob', {}), 'LOW read')
  assert.equal(said('Glob', { path: '', pattern: '' }), 'LOW read')
  assert.equal(said('Glob', { path: null, pattern: null }), 'LOW read')
  assert.equal(said('Glob', { pattern: '.env*' }), 'LOW read', 'names alone are no content')
  assert.equal(said('Grep', { glob: '.env*' }), 'HIGH path.secret')
  assert.equal(said('Grep', { glob: '.env' }), 'HIGH path.secret')
  assert.equal(said('Grep', { glob: '*.ts' }), 'LOW read')
  assert.equal(said('Glob', { path: '/home/u/.ssh', pattern: '*' }), 'HIGH path.secret')
  assert.equal(said('Glob', { pattern: '/home/u/.ssh/*' }), 'HIGH path.secret')
  assert.equal(said('Glob', { pattern: '~/.ssh/{a,b}' }), 'HIGH path.secret')
  assert.equal(said('Glob', { pattern: '~/.aws/config?' }), 'HIGH path.secret')
  assert.equal(said('Glob', { pattern: '~/.aws/[a]/b' }), 'HIGH path.secret')
  assert.equal(said('Glob', { pattern: '~/.aws/!a' }), 'HIGH path.secret')
  assert.equal(said('Glob', { pattern: '/usr/*/x' }), 'LOW read')
  assert.equal(said('Glob', { pattern: '$X/*' }), 'MEDIUM path.strange')
  assert.equal(said('Grep', { path: '$X', glob: '.env' }), 'MEDIUM path.strange')
})

test('fetching and looking up are MEDIUM', () => {
  assert.equal(said('WebFetch', { url: 'https://example.com' }), 'MEDIUM net.get')
  assert.equal(said('WebSearch', {}), 'MEDIUM net.search')
})

test('a request has one normal form: the tool, and what it is about in one spelling', () => {
  const rows: [string, Record<string, unknown>, string][] = [
    ['Read', { file_path: '/proj/src/../a.ts' }, 'Read ./a.ts'],
    ['Read', { file_path: '../x' }, 'Read /x'],
    ['Read', { file_path: 'a\\b' }, 'Read a\\b'],
    ['Glob', { path: 'src', pattern: '*.ts' }, 'Glob ./src *.ts'],
    ['Glob', { pattern: '*.ts' }, 'Glob *.ts'],
    ['Grep', { path: 'src', pattern: 'x' }, 'Grep ./src'],
    ['WebFetch', { url: 'https://example.com/a' }, 'WebFetch https://example.com/a'],
    ['WebSearch', { query: 'x' }, 'WebSearch'],
    ['mcp__x__y', { a: 1 }, 'mcp__x__y'],
    ['TodoWrite', {}, 'TodoWrite'],
  ]
  for (const [tool, input, form] of rows) assert.equal(assess(tool, input).normalised, form)
})
