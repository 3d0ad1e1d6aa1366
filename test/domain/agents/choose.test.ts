import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isHeldEnough } from '../../../src/agents/held-enough.ts'
import { MANIFESTS } from '../../../src/agents/manifests/manifests.ts'
import { AppError } from '../../../src/base/errors.ts'
import { chooseAgent, PROGRAMS } from '../../../src/domain/agents/choose.ts'
import { AGENT_KINDS } from '../../../src/domain/agents/manifest.ts'

const custom = {
  mine: { command: '/opt/mine/bin/mine --acp "two words"' },
  lost: { command: 'bin/mine' },
  script: { command: 'node x.mjs' },
}
const chosen = (text: string) => chooseAgent({ text, origin: '--agent', custom, directory: '/home/me/project' })

test('a kind is that kind, and its program names it too, but never by a path', () => {
  for (const kind of AGENT_KINDS) {
    assert.equal(PROGRAMS[kind], MANIFESTS[kind].start.command)
    assert.deepEqual(chosen(kind), { kind, name: kind })
    assert.deepEqual(chosen(PROGRAMS[kind]), { kind, name: kind })
    for (const path of [`/opt/${PROGRAMS[kind]}`, `./tools/${PROGRAMS[kind]}`])
      assert.throws(
        () => chosen(path),
        error => error instanceof AppError && /is a path/.test(error.message),
      )
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

test('a relative path begins at the project, never in the worktree where the agent works', () => {
  const words = (text: string) => chosen(text).command?.slice(1)
  assert.deepEqual(words('node ./x.mjs --acp'), ['/home/me/project/x.mjs', '--acp'])
  assert.deepEqual(words('node x.mjs'), ['/home/me/project/x.mjs'])
  assert.deepEqual(words('npx @scope/agent acp http://a/b'), ['@scope/agent', 'acp', 'http://a/b'])
})

test('an agent is let work alone by a kind or by a name of agents.custom, never by the name of a program', () => {
  const isHeld = (text: string, allowed: string) =>
    isHeldEnough({ agent: chosen(text), manifest: { hold: 'observed' }, allowed: [allowed], custom, sandboxed: false })
  assert.equal(isHeld('gemini', 'gemini'), true)
  assert.equal(isHeld('mine', 'mine'), true)
  assert.equal(isHeld('node ./x.mjs', 'node'), false)
  assert.equal(isHeld('/tmp/other/mine --acp', 'mine'), false)
})

for (const [text, code, words] of [
  ['gemni', 'agent_unknown', /"gemni" \(--agent\)/],
  ['', 'agent_malformed', /names no program/],
  ['gemini "x', 'agent_malformed', /not closed \(character 8\)/],
  ['gemini --yolo', 'agent_malformed', /--yolo could take away what holds gemini/],
  ['gemini --approval-mode=yolo', 'agent_malformed', /could take away/],
  ['gemini --approvalMode yolo', 'agent_malformed', /could take away/],
  ['gemini --model x -dy', 'agent_malformed', /-dy could take away/],
  ['gemini --model --yolo', 'agent_malformed', /could take away/],
  ['gemini --model', 'agent_malformed', /could take away/],
  ['gemini --allowedTools run_shell_command', 'agent_malformed', /could take away/],
  ['gemini -- -y', 'agent_malformed', /could take away/],
  ['codex --full-auto', 'agent_malformed', /could take away/],
  ['codex -c approval_policy=never', 'agent_malformed', /-c could take away/],
  ['opencode --print-logs=x', 'agent_malformed', /could take away/],
  ['claude-agent-acp --anything', 'agent_malformed', /could take away/],
  ['node --import=./x.mjs /opt/agent.mjs', 'agent_malformed', /not a whole one/],
  ['script', 'agent_malformed', /agents\.custom\.script.*the path x\.mjs is not a whole one/],
  ['codex --enable goals', 'agent_malformed', /--enable could take away/],
  ['codex -cfeatures.hooks=true', 'agent_malformed', /could take away/],
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
