import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MANIFESTS } from '../../../src/agents/manifests/manifests.ts'
import { AppError } from '../../../src/base/errors.ts'
import { chooseAgent, PROGRAMS } from '../../../src/domain/agents/choose.ts'
import { AGENT_KINDS } from '../../../src/domain/agents/manifest.ts'

const custom = { mine: { command: '/opt/mine/bin/mine --acp "two words"' }, lost: { command: 'bin/mine' } }
const chosen = (text: string) => chooseAgent({ text, origin: '--agent', custom, directory: '/home/me/project' })

test('a kind is that kind, and its program names it too, by whatever path', () => {
  for (const kind of AGENT_KINDS) {
    assert.equal(PROGRAMS[kind], MANIFESTS[kind].start.command)
    assert.deepEqual(chosen(kind), { kind, name: kind })
    assert.deepEqual(chosen(PROGRAMS[kind]), { kind, name: kind })
    const path = `/opt/${PROGRAMS[kind]}`
    assert.deepEqual(chosen(path), { kind, name: kind, command: [path] })
  }
})

test('words behind a program are kept, but for those that are given anyway', () => {
  const command = ['gemini', '--model', 'x y']
  assert.deepEqual(chosen('gemini --acp --model "x y"'), { kind: 'gemini', name: 'gemini', command })
  assert.deepEqual(chosen('opencode acp'), { kind: 'opencode', name: 'opencode' })
})

test('a custom agent is named by the settings, by a path, or by a program with words', () => {
  const mine = ['/opt/mine/bin/mine', '--acp', 'two words']
  assert.deepEqual(chosen('mine'), { kind: 'custom', name: 'mine', command: mine })
  assert.deepEqual(chosen('./other --x'), {
    kind: 'custom',
    name: 'other',
    command: ['/home/me/project/other', '--x'],
  })
  assert.deepEqual(chosen('goose acp'), { kind: 'custom', name: 'goose', command: ['goose', 'acp'] })
})

for (const [text, code, words] of [
  ['gemni', 'agent_unknown', /"gemni" \(--agent\)/],
  ['', 'agent_malformed', /names no program/],
  ['gemini "x', 'agent_malformed', /not closed \(character 8\)/],
  ['gemini --yolo', 'agent_malformed', /--yolo would take away what holds gemini/],
  ['gemini --approval-mode=yolo', 'agent_malformed', /would take away/],
  ['codex --full-auto', 'agent_malformed', /would take away/],
  ['codex --enable goals', 'agent_malformed', /--enable would take away/],
  ['codex -cfeatures.hooks=true', 'agent_malformed', /would take away/],
  ['claude --dangerously-skip-permissions', 'agent_malformed', /takes no words of its own/],
  ['FOO=1 gemini', 'agent_malformed', /FOO is set before the program/],
  ['lost', 'agent_malformed', /agents\.custom\.lost, named by --agent.*bin\/mine is not a whole one/],
  ['constructor', 'agent_unknown', /constructor/],
] as const) {
  test(`the agent ${JSON.stringify(text)} is refused: ${code}`, () => {
    assert.throws(
      () => chosen(text),
      error => error instanceof AppError && error.code === code && words.test(error.message),
    )
  })
}
