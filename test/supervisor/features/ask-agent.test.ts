import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isReadOnlySession } from '../../../src/agents/agent-sandbox.ts'
import { openLazyPolicy } from '../../../src/daemon/lazy-services.ts'
import type { AgentManifest } from '../../../src/domain/agent-manifest.ts'
import { AGENTS } from '../../../src/domain/agents/agent-registry.ts'
import { findManifest } from '../../../src/domain/agents/find-manifest.ts'
import { agentTrouble, readOnlyAsks } from '../../../src/supervisor/features/ask-agent.ts'
import type { LiveSession } from '../../../src/supervisor/session/context.ts'
import { failed } from '../../../src/supervisor/session/endings.ts'
import { verifierCommands } from '../../../src/workspace/verify/gate-settings.ts'
import { gitProject, tempDir } from '../../support/world.ts'

const chosen = { kind: 'custom', name: 'mine', command: ['/opt/mine'] } as const
const mine = findManifest({ ...chosen, command: [...chosen.command] })

/** Words that belong to the login of each agent, and to no other. */
const LOGINS: [AgentManifest, own: RegExp, others: RegExp][] = [
  [AGENTS.claude, /pcc agents login\. Or(, with a key: export| set) ANTHROPIC_API_KEY/, /OPENAI|GEMINI/],
  [AGENTS['claude-acp'], /pcc agents login\. Or(, with a key: export| set) ANTHROPIC_API_KEY/, /OPENAI|GEMINI/],
  [AGENTS.codex, /codex login\. Or(, with a key: export| set) CODEX_API_KEY/, /ANTHROPIC|pcc agents login/],
  [AGENTS.gemini, /gemini \(.*\)\. Or(, with a key: export| set) GEMINI_API_KEY/, /ANTHROPIC|pcc agents login/],
  [AGENTS.opencode, /opencode auth login\. Or(, with a key: export| set) OPENCODE_API_KEY/, /pcc agents login/],
  [mine, /the agent itself\. Or set the variable that it reads/, /ANTHROPIC|pcc agents login|undefined/],
]

for (const [manifest, own, others] of LOGINS) {
  const run = {
    id: 's-000001',
    settings: { driver: { agent: manifest.kind }, open: { env: {} } },
    row: { agent: manifest.name, options: { chosen } },
  }
  const after = (kind: 'auth' | 'agent_missing') =>
    failed({ kind, message: 'It said no.' }, run as unknown as LiveSession).reason ?? ''

  test(`${manifest.name} without a login is told with its own vendor's way to one`, () => {
    const trouble = agentTrouble({ kind: 'auth', message: 'It said no.' }, manifest)
    assert.equal(trouble.message, `${manifest.name} is not logged in.`)
    for (const words of [trouble.next, after('auth')]) {
      assert.match(words, own)
      assert.doesNotMatch(words, others)
    }
  })

  test(`${manifest.name} that is missing is told by its name, with how to get it`, () => {
    const trouble = agentTrouble({ kind: 'agent_missing', message: 'no such file' }, manifest)
    assert.equal(trouble.message, `${manifest.name} cannot be started: no such file`)
    for (const words of [trouble.next, after('agent_missing')]) assert.ok(words.includes(manifest.start.install), words)
  })
}

test('a reading agent may read the project, and nothing that a session would be asked about or could change', async t => {
  using policy = openLazyPolicy()
  const project = tempDir(t, 'pcc-project-')
  const asks = readOnlyAsks(
    {
      ...{ project, home: '/home/somebody', safeDirectories: [], blocked: [], allowedTools: ['Bash', 'Write'] },
      rules: async () => [
        { effect: 'allow', tool: 'Bash' },
        { effect: 'allow', tool: 'Write' },
      ],
      ...{ autoApproveLow: true, threshold: 0, unattendedHigh: 'wait' },
    },
    question => policy.classify(question),
  )
  const verdictOn = async (tool: string, input: Record<string, unknown>) => {
    const reply = await asks.permission({ callId: 'c', tool, input, cwd: project }, new AbortController().signal)
    return 'verdict' in reply ? reply.verdict : 'park'
  }
  assert.equal(await verdictOn('Read', { file_path: `${project}/README.md` }), 'allow')
  assert.equal(await verdictOn('Grep', { pattern: 'TODO', path: project }), 'allow')
  assert.equal(await verdictOn('Glob', { pattern: '**/*.ts' }), 'allow')
  assert.equal(await verdictOn('Read', { file_path: '/home/somebody/.ssh/id_rsa' }), 'deny')
  for (const [tool, input] of [
    ['Write', { file_path: `${project}/a`, content: '' }],
    ['Edit', { file_path: `${project}/a`, old_string: 'a', new_string: 'b' }],
    ['Bash', { command: 'ls' }],
    ['Agent', { prompt: 'write it' }],
    ['WebFetch', { url: 'https://example.invalid' }],
    ['mcp__files__write', {}],
  ] as const) {
    assert.equal(await verdictOn(tool, input), 'deny', tool)
  }
  const questions = [{ question: 'Which?', header: '', multiSelect: false, options: [] }]
  assert.ok('declined' in (await asks.question({ callId: 'q', questions }, new AbortController().signal)))
})

test('a verifier may run the commands of the gates word for word, as far as the policy lets a session run them unasked', async t => {
  using policy = openLazyPolicy()
  const project = gitProject(t, { 'package.json': '{"scripts":{"test":"node --test"}}\n' })
  const session = {
    ...{ project, home: '/home/somebody', safeDirectories: [], blocked: [], allowedTools: [], rules: async () => [] },
    ...{ autoApproveLow: true, threshold: 0.5, unattendedHigh: 'wait' as const },
  }
  const asks = readOnlyAsks(session, question => policy.classify(question), ['npm test', 'rm -rf /'])
  const verdictOn = async (input: Record<string, unknown>) => {
    const reply = await asks.permission(
      { callId: 'c', tool: 'Bash', input, cwd: project },
      new AbortController().signal,
    )
    return 'verdict' in reply ? reply.verdict : 'park'
  }
  assert.equal(await verdictOn({ command: 'npm test' }), 'allow')
  assert.equal(await verdictOn({ command: 'npm test; ls' }), 'deny')
  assert.equal(await verdictOn({ command: 'npm test', run_in_background: true }), 'deny')
  assert.equal(await verdictOn({ command: 'ls' }), 'deny')
  assert.equal(await verdictOn({ command: 'rm -rf /' }), 'deny', 'a gate is no way around the policy')
})

test('only the deep profile lets the verifier run commands, and what it may run cannot write', () => {
  const commands = { test: 'npm test', lint: 'npm run lint' }
  assert.deepEqual(verifierCommands({ profile: 'deep', commands }), ['npm run lint', 'npm test'])
  assert.deepEqual(verifierCommands({ profile: 'standard', commands }), [])
  assert.ok(isReadOnlySession({ tools: ['Read', 'Bash'], readsOnly: true }))
  assert.ok(!isReadOnlySession({ tools: ['Read', 'Bash'] }))
})
