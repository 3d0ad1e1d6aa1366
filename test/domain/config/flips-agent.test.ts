import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { openGuard } from '../../../src/base/process/guardian.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import { pccFor } from '../../cli/pcc.ts'
import { agentEnv, gitProject } from '../../support/world.ts'

const SCENARIO = 'conversations:\n  - name: hello\n    match: say hello\n    turns:\n      - text: Hello.\n'

/** What the agent's process was given, seen from inside it, and what the model was told. */
interface Seen {
  env: string
  args: string
  pidNamespace: string
  systemPrompt: string
}

/** Runs one session with these settings; `agents.path` is a script that looks around and then becomes the real Claude Code. */
async function sessionWith(t: TestContext, settings: string): Promise<Seen> {
  await using simulator = await openSimulator({ text: SCENARIO })
  const pcc = pccFor(t)
  const seen = (name: string) => join(pcc.home, name)
  const script = seen('claude-seen')
  writeFileSync(
    script,
    `#!/bin/sh\nenv > ${seen('env')}\necho "$@" > ${seen('args')}\nreadlink /proc/self/ns/pid > ${seen('pid')}\nexec ${realClaude()} "$@"\n`,
  )
  chmodSync(script, 0o755)
  const { configFile } = appPathsFor({ env: pcc.env })
  mkdirSync(dirname(configFile), { recursive: true })
  writeFileSync(configFile, `agents.path = "${script}"\nagents.sandbox = "off"\n${settings}`)
  const env = { ...agentEnv(pcc.home, simulator.url), MINE: 'it travels' }
  const { code, stderr } = await pcc.run(['start', gitProject(t), '--task', 'say hello'], { env })
  assert.equal(code, 0, stderr)
  const read = (name: string) => readFileSync(seen(name), 'utf8')
  return {
    env: read('env'),
    args: read('args'),
    pidNamespace: read('pid').trim(),
    systemPrompt: JSON.stringify(simulator.requests.map(request => request.body.system)),
  }
}

function realClaude(): string {
  const require = createRequire(import.meta.url)
  const name = `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}`
  return join(dirname(require.resolve(`${name}/package.json`)), 'claude')
}

test('agents.path, agents.env, agents.setting_sources, agents.append_prompt and agents.isolation reach the agent', async t => {
  const plain = await sessionWith(t, '')
  assert.doesNotMatch(plain.env, /^MINE=/m)
  assert.match(plain.args, /--setting-sources[= ]user,project,local/)
  assert.doesNotMatch(plain.systemPrompt, /answer in rhymes/)
  const isMoved = openGuard().level('auto') === 'namespace'
  assert.equal(plain.pidNamespace !== readlinkSync('/proc/self/ns/pid'), isMoved)

  const flipped = await sessionWith(
    t,
    `agents.env = ["ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "MINE"]
agents.setting_sources = ["user"]
agents.append_prompt = "answer in rhymes"
agents.isolation = "marker"
`,
  )
  assert.match(flipped.env, /^MINE=it travels$/m)
  assert.doesNotMatch(flipped.env, /^DISABLE_TELEMETRY=/m)
  assert.match(flipped.args, /--setting-sources[= ]user( |$)/)
  assert.match(flipped.systemPrompt, /answer in rhymes/)
  assert.equal(flipped.pidNamespace, readlinkSync('/proc/self/ns/pid'), 'a marker does not move the agent elsewhere')
})
