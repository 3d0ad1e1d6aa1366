import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MANIFESTS, manifestOf } from '../../../src/agents/manifests/manifests.ts'
import type { AgentManifest } from '../../../src/domain/agents/manifest.ts'
import { failed } from '../../../src/supervisor/loop/endings.ts'
import { agentTrouble } from '../../../src/supervisor/proposals/agent-trouble.ts'
import type { Run } from '../../../src/supervisor/run.ts'

const chosen = { kind: 'custom', name: 'mine', command: ['/opt/mine'] } as const
const mine = manifestOf({ ...chosen, command: [...chosen.command] })

/** Which words belong to the login of each, and to no other. */
const LOGINS: [AgentManifest, own: RegExp, others: RegExp][] = [
  [MANIFESTS.claude, /pcc agents login\. Or set ANTHROPIC_API_KEY/, /OPENAI|GEMINI/],
  [MANIFESTS['claude-acp'], /pcc agents login\. Or set ANTHROPIC_API_KEY/, /OPENAI|GEMINI/],
  [MANIFESTS.codex, /codex login\. Or set CODEX_API_KEY or OPENAI_API_KEY/, /ANTHROPIC|pcc agents login/],
  [MANIFESTS.gemini, /gemini \(.*\)\. Or set GEMINI_API_KEY or GOOGLE_API_KEY/, /ANTHROPIC|pcc agents login/],
  [MANIFESTS.opencode, /opencode auth login\. Or set OPENCODE_API_KEY/, /pcc agents login/],
  [mine, /the agent itself\. Or set the variable that it reads/, /ANTHROPIC|pcc agents login|undefined/],
]

for (const [manifest, own, others] of LOGINS) {
  const run = { id: 's-000001', driver: { agent: manifest.kind }, row: { agent: manifest.name, options: { chosen } } }
  const after = (kind: 'auth' | 'agent_missing') =>
    failed({ kind, message: 'It said no.' }, run as unknown as Run).reason ?? ''

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
