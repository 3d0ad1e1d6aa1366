import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findingsInMcp, findingsInSettings, showValue } from '../../../src/policy/trust/findings.ts'
import { findingsInPrompt } from '../../../src/policy/trust/prompt-findings.ts'

const settings = (value: unknown) =>
  findingsInSettings(JSON.stringify(value)).map(
    ({ kind, text, mayRace }) => `${kind} | ${text}${mayRace ? ' | races' : ''}`,
  )

test('a hook is shown by its event, its matcher and its command', () => {
  const command = { type: 'command', command: 'x.sh', timeout: 5 }
  assert.deepEqual(settings({ hooks: { Stop: [{ matcher: 'Bash', hooks: [command, command] }] } }), [
    'hooks | hook Stop (Bash): x.sh',
    'hooks | hook Stop (Bash): x.sh',
  ])
  assert.deepEqual(settings({ hooks: { Stop: [{ hooks: [command] }] } }), ['hooks | hook Stop: x.sh'])
  assert.deepEqual(settings({ hooks: { Stop: [{ matcher: 5, hooks: [command] }] } }), ['hooks | hook Stop: x.sh'])
})

test('a hook of a form that is not known is shown whole', () => {
  assert.deepEqual(settings({ hooks: { Stop: [{ hooks: [{ type: 'command', command: 'x', shell: 'y' }] }] } }), [
    'hooks | hook Stop: {"type":"command","command":"x","shell":"y"}',
  ])
  assert.deepEqual(settings({ hooks: { Stop: [{ hooks: [{ type: 'http', url: 'u' }] }] } }), [
    'hooks | hook Stop: {"type":"http","url":"u"}',
  ])
  assert.deepEqual(settings({ hooks: { Stop: [{ hooks: [{ type: 'command', command: 5 }] }] } }), [
    'hooks | hook Stop: {"type":"command","command":5}',
  ])
  assert.deepEqual(settings({ hooks: { Stop: { hooks: [{ command: 'x' }] } } }), ['hooks | hook Stop: x'])
  assert.deepEqual(settings({ hooks: { Stop: ['x'] } }), ['hooks | hook Stop: "x"'])
  assert.deepEqual(settings({ hooks: { Stop: [{ hooks: 'x' }] } }), ['hooks | hook Stop: {"hooks":"x"}'])
  assert.deepEqual(settings({ hooks: [] }), ['hooks | hooks: [] | races'])
  assert.deepEqual(settings({ hooks: 'x' }), ['hooks | hooks: x | races'])
  assert.deepEqual(settings({ hooks: {} }), [])
})

test('only what may bring in a hook for permission requests races our answer', () => {
  const hooks = [{ hooks: [{ type: 'command', command: 'x' }] }]
  assert.deepEqual(settings({ hooks: { PermissionRequest: hooks, Stop: hooks } }), [
    'hooks | hook PermissionRequest: x | races',
    'hooks | hook Stop: x',
  ])
  assert.deepEqual(settings({ enabledPlugins: { a: true }, pluginX: 1, other: 1 }), [
    'enabledPlugins | enabledPlugins: {"a":true} | races',
    'pluginX | pluginX: 1 | races',
    'other | other: 1',
  ])
})

test('variables and permissions are shown one by one, or whole when they are of another form', () => {
  assert.deepEqual(settings({ env: { A: 'x', B: 5 } }), ['env | env A=x', 'env | env B=5'])
  assert.deepEqual(settings({ env: ['A'] }), ['env | env: ["A"]'])
  assert.deepEqual(settings({ env: null }), ['env | env: null'])
  assert.deepEqual(
    settings({ permissions: { allow: ['Bash', 'Read'], deny: ['x'], ask: ['y'], defaultMode: 'auto' } }),
    ['allow rules | allow Bash', 'allow rules | allow Read', 'permissions.defaultMode | permissions.defaultMode: auto'],
  )
  assert.deepEqual(settings({ permissions: { allow: 'Bash' } }), ['permissions.allow | permissions.allow: Bash'])
  assert.deepEqual(settings({ permissions: 'x' }), ['permissions | permissions: x'])
})

test('harmless settings are not asked about, a word that is not known is', () => {
  assert.deepEqual(settings({ $schema: 'x', model: 'x', language: 'x', disableAutoMode: 'x' }), [])
  assert.deepEqual(settings({ permissions: { disableAutoMode: 'x', blockReadsOutsideWorkingDirectories: true } }), [])
  assert.deepEqual(settings({ modell: 'x' }), ['modell | modell: x'])
})

test('a file that is no object may hold anything, an empty one and one with a mark of its encoding are read', () => {
  const unreadable = [
    { kind: 'a form that cannot be read', text: 'not valid, so it is not known what it does', mayRace: true },
  ]
  for (const text of ['{', '[]', '"x"', 'null', '5']) {
    assert.deepEqual(findingsInSettings(text), unreadable, text)
    assert.deepEqual(findingsInMcp(text), unreadable, text)
  }
  assert.deepEqual(findingsInSettings(' \n'), [])
  assert.deepEqual(findingsInSettings('\uFEFF{"model":"x"}'), [])
  assert.deepEqual(findingsInMcp(''), [])
})

test('each server of a project is named with what starts it', () => {
  assert.deepEqual(findingsInMcp('{"mcpServers":{"a":{"command":"x"},"b":{"url":"y"}},"other":1}'), [
    { kind: 'MCP servers', text: 'MCP server a: {"command":"x"}' },
    { kind: 'MCP servers', text: 'MCP server b: {"url":"y"}' },
  ])
  assert.deepEqual(findingsInMcp('{"mcpServers":[1]}'), [])
  assert.deepEqual(findingsInMcp('{}'), [])
})

test('what is shown is one line, capped, and holds nothing that a terminal would obey', () => {
  assert.equal(showValue('a\nb\u2028\u202e'), 'a\\u{a}b\\u{2028}\\u{202e}')
  assert.equal(showValue('x'.repeat(400)), 'x'.repeat(400))
  assert.equal(showValue('x'.repeat(401)), `${'x'.repeat(397)}…`)
  assert.equal(showValue(undefined), 'undefined')
  assert.equal(showValue({ a: 1 }), '{"a":1}')
})

test('the head of a prompt is asked about word by word, however its words are spelled', () => {
  const head = (lines: string) =>
    findingsInPrompt(`---\n${lines}\n---\n`).map(({ kind, text, mayRace }) => [kind, text, mayRace])
  assert.deepEqual(head('allowed-tools: Bash'), [['allow rules', 'allowed-tools: Bash', undefined]])
  assert.deepEqual(head('Allowed_Tools: Bash'), [['allow rules', 'Allowed_Tools: Bash', undefined]])
  assert.deepEqual(head('permissionMode: auto'), [['a permission mode', 'permissionMode: auto', undefined]])
  assert.deepEqual(head('mcpServers: {}'), [['MCP servers', 'mcpServers: {}', undefined]])
  assert.deepEqual(head('hooks: {Stop: []}'), [['hooks', 'hooks: {"Stop":[]}', undefined]])
  assert.deepEqual(head('hooks: {PermissionRequest: []}'), [['hooks', 'hooks: {"PermissionRequest":[]}', true]])
  assert.deepEqual(head('hooks:'), [['hooks', 'hooks: null', undefined]])
  assert.deepEqual(head('other: PermissionRequest'), [['other', 'other: PermissionRequest', undefined]])
  assert.deepEqual(head('user-invocable: true\nwhen_to_use: x\nMax-Turns: 5'), [])
  assert.deepEqual(head(''), [])
})

test('a prompt without a head, or whose dashes come later, declares nothing', () => {
  assert.deepEqual(findingsInPrompt('hooks: {}'), [])
  assert.deepEqual(findingsInPrompt('x\n---\nhooks: {}\n---\n'), [])
  assert.deepEqual(findingsInPrompt('---\nhooks: {}'), [])
})

test('a prompt with both a head and commands tells both, and what two readings share once', () => {
  const found = findingsInPrompt('---\nhooks: {}\n---\nx !`id`').map(({ text }) => text)
  assert.deepEqual(found, ['runs commands when read', 'hooks: {}'])
  const two = findingsInPrompt('---\na: x --- y\nb: 1\n---\n').map(({ text }) => text)
  assert.deepEqual(two, ['a: x', 'a: x --- y', 'b: 1'])
})
