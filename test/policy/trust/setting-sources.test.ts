import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settingSourcesFor, type TrustStatus } from '../../../src/policy/trust/setting-sources.ts'
import type { SurfaceKind } from '../../../src/policy/trust/surface.ts'

const ALL = ['user', 'project', 'local'] as const
const file = (path: string, kind: SurfaceKind, ...kinds: string[]) => ({
  path,
  kind,
  sha256: 'x',
  contains: kinds.map(each =>
    each.startsWith('!') ? { kind: each.slice(1), text: '', mayRace: true as const } : { kind: each, text: '' },
  ),
})
const status = (state: TrustStatus['state'], ...files: TrustStatus['files']): TrustStatus => ({
  project: '/p',
  state,
  files,
  changed: ['a', 'b'],
})

test('what is agreed to is loaded, every source of it', () => {
  const files = [
    file('s', 'settings', 'hooks'),
    file('l', 'local', 'env'),
    file('m', 'mcp', 'MCP servers'),
    file('p', 'prompts', 'hooks'),
  ]
  for (const state of ['trusted', 'nothing-to-trust'] as const)
    assert.deepEqual(settingSourcesFor(status(state, ...files), ALL), {
      sources: [...ALL],
      strictMcp: false,
      hooksOff: false,
    })
})

test('each kind of file that waits keeps its own source out', () => {
  const sources = (kind: SurfaceKind) => settingSourcesFor(status('untrusted', file('f', kind, 'x')), ALL)
  assert.deepEqual(sources('settings').sources, ['user', 'local'])
  assert.deepEqual(sources('prompts').sources, ['user', 'local'])
  assert.deepEqual(sources('local').sources, ['user', 'project'])
  for (const kind of ['pcc', 'rules', 'scripts', 'mcp'] as const)
    assert.deepEqual(sources(kind).sources, [...ALL], kind)
  assert.deepEqual([sources('mcp').strictMcp, sources('settings').strictMcp], [true, false])
  for (const kind of ['pcc', 'rules', 'scripts'] as const) assert.ok(!('note' in sources(kind)), kind)
})

test('servers of files are left out only while the project is loaded without them', () => {
  const servers = file('m', 'mcp', 'MCP servers')
  assert.equal(settingSourcesFor(status('changed', servers), ['user', 'local']).strictMcp, false)
  assert.equal(settingSourcesFor(status('changed', servers), ['project']).strictMcp, true)
  assert.equal(settingSourcesFor(status('changed', servers, file('s', 'settings', 'x')), ALL).strictMcp, false)
})

test('the note says what was left out, what it costs and what to do', () => {
  const note = (state: TrustStatus['state'], ...files: TrustStatus['files']) =>
    settingSourcesFor(status(state, ...files), ALL).note
  assert.equal(
    note(
      'untrusted',
      file('s', 'settings', 'hooks', 'env', 'hooks'),
      file('m', 'mcp', 'MCP servers'),
      file('l', 'rules', 'allow rules'),
    ),
    "Project settings not loaded: s has hooks, env; m has MCP servers. Until then the project's CLAUDE.md is not loaded either. To load them: pcc trust /p",
  )
  assert.equal(
    note('untrusted', file('m', 'mcp', 'MCP servers')),
    'Project settings not loaded: m has MCP servers. Until then no MCP server from a file is started, your own included. To load them: pcc trust /p',
  )
  assert.equal(
    note('changed', file('l', 'local', 'env'), file('r', 'rules', 'x')),
    'Project settings not loaded (changed since you agreed: a, b): l has env. To load them: pcc trust /p',
  )
})

test('no hook runs while a file that is loaded may race our answer', () => {
  const off = (state: TrustStatus['state'], kind: SurfaceKind, configured: readonly (typeof ALL)[number][] = ALL) =>
    settingSourcesFor(status(state, file('f', kind, 'x', '!y')), configured)
  for (const kind of ['settings', 'prompts', 'local'] as const) {
    const loaded = off('trusted', kind)
    assert.equal(loaded.hooksOff, true, kind)
    assert.match(loaded.note ?? '', /^No hooks run, your own included: f could answer/)
    assert.equal(off('untrusted', kind).hooksOff, false, kind)
    assert.equal(off('trusted', kind, ['user']).hooksOff, false, kind)
  }
  assert.equal(off('trusted', 'local', ['project']).hooksOff, false)
  assert.equal(off('trusted', 'settings', ['local']).hooksOff, false)
  assert.equal(off('trusted', 'mcp').hooksOff, false)
  const both = settingSourcesFor(status('untrusted', file('l', 'local', '!y'), file('m', 'mcp', 'MCP servers')), ALL)
  assert.equal(both.hooksOff, false)
})
