import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../src/base/errors.ts'
import { AGENT_KINDS, AGENTS } from '../../src/domain/agents/agent-registry.ts'
import { canRunUnattended } from '../../src/domain/agents/find-manifest.ts'
import { chooseAgent } from '../../src/domain/choose-agent.ts'

const custom = {
  mine: { command: '/opt/mine/bin/mine --acp "two words"' },
  lost: { command: 'bin/mine' },
  script: { command: 'node x.mjs' },
}
const chosen = (text: string) => chooseAgent({ text, origin: '--agent', custom, directory: '/home/me/project' })

test('a kind is chosen by its name or its program, but never by a path', () => {
  for (const kind of AGENT_KINDS) {
    const { command } = AGENTS[kind].start
    assert.deepEqual(chosen(kind), { kind, name: kind })
    assert.deepEqual(chosen(command), { kind, name: kind })
    for (const path of [`/opt/${command}`, `./tools/${command}`])
      assert.throws(
        () => chosen(path),
        error => error instanceof AppError && /is a path/.test(error.message),
      )
  }
})

test('arguments of a program are kept, except those that are always given', () => {
  const command = ['gemini', '--model', 'x y']
  assert.deepEqual(chosen('gemini --acp --model "x y"'), { kind: 'gemini', name: 'gemini', command })
  assert.deepEqual(chosen('opencode acp'), { kind: 'opencode', name: 'opencode' })
})

test('a custom agent is named by the settings, by a path, or by a program with arguments', () => {
  const mine = ['/opt/mine/bin/mine', '--acp', 'two words']
  assert.deepEqual(chosen('mine'), { kind: 'custom', name: 'mine', command: mine })
  assert.deepEqual(chosen('./other --x'), {
    kind: 'custom',
    name: 'other (4800ce)',
    command: ['/home/me/project/other', '--x'],
  })
  const goose = { kind: 'custom', name: 'goose acp (c0bbe7)', command: ['goose', 'acp'] }
  assert.deepEqual(chosen('goose acp'), goose)
})

test('agents with only a command line are distinguished by what they run, never by a word that may be a secret', () => {
  const name = (text: string) => chosen(text).name
  assert.match(name('node one.mjs'), /^node one\.mjs \([0-9a-f]{6}\)$/)
  assert.match(name('python3 -P -m my.agent --token s3cret'), /^python3 -m my\.agent \([0-9a-f]{6}\)$/)
  assert.match(name('npx -y @scope/agent'), /^npx @scope\/agent \(/)
  assert.match(name('/opt/mine --token s3cret'), /^mine \([0-9a-f]{6}\)$/)
  const alike = ['node a/x.mjs', 'node b/x.mjs', 'node a/x.mjs --model y', '/opt/mine --acp', '/srv/mine --acp', 'mine']
  assert.equal(new Set(alike.map(name)).size, alike.length)
  assert.equal(name('node a/x.mjs'), name('  node   "a/x.mjs"'), 'the same words have the same name')
})

test('a relative path begins at the project, never in the worktree where the agent works', () => {
  const words = (text: string) => chosen(text).command?.slice(1)
  assert.deepEqual(words('node ./x.mjs --acp'), ['/home/me/project/x.mjs', '--acp'])
  assert.deepEqual(words('node x.mjs'), ['/home/me/project/x.mjs'])
  assert.deepEqual(words('node agent acp'), ['/home/me/project/agent', 'acp'])
  assert.deepEqual(words('python3 -u x.py'), ['-u', '/home/me/project/x.py'])
  assert.deepEqual(words('python3 -u -P -m my.agent'), ['-u', '-P', '-m', 'my.agent'])
  assert.deepEqual(words('python3 -Im my.agent'), ['-Im', 'my.agent'])
  assert.deepEqual(words('python3 /opt/x.py -m y'), ['/opt/x.py', '-m', 'y'], 'a word of the script is its own')
  assert.deepEqual(words('node --import /opt/tsx.mjs /opt/x.ts'), ['--import', '/opt/tsx.mjs', '/opt/x.ts'])
  assert.deepEqual(words('node /opt/x.mjs -r y'), ['/opt/x.mjs', '-r', 'y'])
  assert.deepEqual(words('npx @scope/agent acp http://a/b'), ['@scope/agent', 'acp', 'http://a/b'])
})

test('an agent may work unattended by its kind or by a name in agents.custom, never by the name of a program', () => {
  const isHeld = (text: string, allowed: string) =>
    canRunUnattended({
      agent: chosen(text),
      manifest: { hold: 'observed' },
      allowed: [allowed],
      custom,
      sandboxed: false,
    })
  assert.equal(isHeld('gemini', 'gemini'), true)
  assert.equal(isHeld('mine', 'mine'), true)
  assert.equal(isHeld('node ./x.mjs', 'node'), false)
  assert.equal(isHeld('/tmp/other/mine --acp', 'mine'), false)
})

for (const [text, code, words] of [
  ['gemni', 'agent_unknown', /"gemni" \(--agent\)/],
  ['', 'agent_malformed', /names no program/],
  ['gemini "x', 'agent_malformed', /not closed \(character 8\)/],
  ['gemini --yolo', 'agent_malformed', /--yolo could loosen the control over gemini/],
  ['gemini --approval-mode=yolo', 'agent_malformed', /could loosen/],
  ['gemini --approvalMode yolo', 'agent_malformed', /could loosen/],
  ['gemini --model x -dy', 'agent_malformed', /-dy could loosen/],
  ['gemini --model --yolo', 'agent_malformed', /could loosen/],
  ['gemini --model', 'agent_malformed', /could loosen/],
  ['gemini --allowedTools run_shell_command', 'agent_malformed', /could loosen/],
  ['gemini -- -y', 'agent_malformed', /could loosen/],
  ['codex --full-auto', 'agent_malformed', /could loosen/],
  ['codex -c approval_policy=never', 'agent_malformed', /-c could loosen/],
  ['opencode --print-logs=x', 'agent_malformed', /could loosen/],
  ['claude-agent-acp --anything', 'agent_malformed', /could loosen/],
  ['node --import=./x.mjs /opt/agent.mjs', 'agent_malformed', /not absolute/],
  ['script', 'agent_malformed', /agents\.custom\.script.*the path x\.mjs is not absolute/],
  ['codex --enable goals', 'agent_malformed', /--enable could loosen/],
  ['codex -cfeatures.hooks=true', 'agent_malformed', /could loosen/],
  ['claude --dangerously-skip-permissions', 'agent_malformed', /takes no arguments/],
  ['FOO=1 gemini', 'agent_malformed', /FOO is set before the program/],
  ['lost', 'agent_malformed', /agents\.custom\.lost, named by --agent.*bin\/mine is not absolute/],
  ['constructor', 'agent_unknown', /constructor/],
  [
    'python -m my.agent',
    'agent_malformed',
    /python -m takes modules from the folder that the agent works in.*python -P -m/,
  ],
  ['python3.12 -u -mmy.agent', 'agent_malformed', /python3\.12 -m takes modules/],
  ['python3 -W ignore -X dev -m my.agent', 'agent_malformed', /takes modules from the folder/],
  ['python3 -c "import agent"', 'agent_malformed', /python3 -c takes modules/],
  ['node --import tsx /opt/x.ts', 'agent_malformed', /node looks for tsx \(--import\)/],
  ['node -r dotenv/config /opt/x.mjs', 'agent_malformed', /node looks for dotenv\/config \(-r\)/],
] as const) {
  test(`the agent ${JSON.stringify(text)} is refused: ${code}`, () => {
    assert.throws(
      () => chosen(text),
      error => error instanceof AppError && error.code === code && words.test(error.message),
    )
  })
}
