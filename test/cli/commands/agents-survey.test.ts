import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { AGENT_KINDS } from '../../../src/domain/agents/agent-registry.ts'
import { type Pcc, pccFor } from '../pcc.ts'

/** A `pcc` whose PATH has these programs beside the usual ones, each a script. */
function pccWith(t: TestContext, programs: Record<string, string>, settings = ''): Pcc {
  const pcc = pccFor(t)
  const folder = join(pcc.home, 'bin')
  mkdirSync(folder)
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  mkdirSync(join(pcc.home, 'pcc'), { recursive: true })
  writeFileSync(join(pcc.home, 'pcc', 'config.toml'), settings)
  const env = { PATH: `${folder}:${pcc.env['PATH'] ?? '/usr/bin:/bin'}` }
  return { ...pcc, run: (args, options = {}) => pcc.run(args, { ...options, env: { ...env, ...options.env } }) }
}

interface Listed {
  name: string
  program: string | null
  version: string | null
  seen_with: string[]
  hold: string
  unattended: boolean
  usual: boolean
  problem: string | null
}

async function listed(pcc: Pcc): Promise<Record<string, Listed>> {
  const { code, stdout, stderr } = await pcc.run(['agents', 'list', '--json'])
  assert.equal(code, 0, stderr)
  return Object.fromEntries((JSON.parse(stdout).agents as Listed[]).map(one => [one.name, one]))
}

test('pcc agents list says of each agent where it is, in which version, and what it is held to', async t => {
  const pcc = pccWith(t, { gemini: 'echo 9.9.9', 'my-agent': 'touch "$HOME/started"' }, SETTINGS)
  const agents = await listed(pcc)
  assert.deepEqual(Object.keys(agents), [...AGENT_KINDS, 'mine'])
  const { claude, gemini, opencode, mine } = agents
  assert.deepEqual([claude?.hold, claude?.usual, claude?.unattended], ['every-call', true, true])
  assert.deepEqual([gemini?.version, gemini?.hold, gemini?.unattended], ['9.9.9', 'writes', false])
  assert.equal(gemini?.program, join(pcc.home, 'bin', 'gemini'))
  assert.deepEqual([opencode?.program, opencode?.version], [null, null])
  assert.deepEqual([mine?.hold, mine?.unattended, mine?.version], ['observed', true, null])
  const { stdout } = await pcc.run(['agents', 'list'])
  assert.match(stdout, /gemini .*9\.9\.9 \(seen 0\.61\.0\).*writes gated, not alone/)
  assert.match(stdout, /opencode .*not found/)
  assert.match(stdout, /mine .*observed only/)
})

const SETTINGS =
  'agents.sandbox = "off"\nagents.unattended = ["mine"]\n[agents.custom.mine]\ncommand = "my-agent --acp"\n'

test('pcc agents doctor says what is wrong and how to get the rest, and fails where the chosen one cannot be used', async t => {
  const pcc = pccWith(t, { gemini: 'echo broken >&2; exit 3' })
  const well = await pcc.run(['agents', 'doctor'])
  assert.equal(well.code, 0, well.stdout)
  assert.match(well.stdout, /! opencode +not found on your PATH\n.*npm install -g opencode-ai/)
  assert.match(well.stdout, /! gemini +.*it does not run/)
  const bad = await pcc.run(['agents', 'doctor', '--json'], { env: { PCC_AGENT: 'gemini' } })
  assert.equal(bad.code, 1)
  const { ok, findings } = JSON.parse(bad.stdout)
  assert.equal(ok, false)
  const problems = (findings as { level: string; area: string }[]).filter(({ level }) => level === 'problem')
  assert.deepEqual(
    problems.map(({ area }) => area),
    ['gemini'],
  )
})

test('a login is seen by its file or its variable, and never read', async t => {
  const pcc = pccWith(t, { codex: 'echo 0.166.0', gemini: 'echo 0.61.0' })
  const doctor = async (env = {}) => (await pcc.run(['agents', 'doctor'], { env })).stdout
  assert.match(await doctor(), /! codex +no login and no API key found/)
  assert.match(await doctor({ OPENAI_API_KEY: 'sk-hush' }), /✓ codex +logs in with OPENAI_API_KEY/)
  assert.doesNotMatch(await doctor({ OPENAI_API_KEY: 'sk-hush' }), /hush/)
  mkdirSync(join(pcc.home, '.codex'))
  writeFileSync(join(pcc.home, '.codex', 'auth.json'), 'not even JSON')
  assert.match(await doctor(), /✓ codex +logs in with its credentials in/)
  const moved = { GEMINI_CLI_HOME: join(pcc.home, 'moved') }
  assert.match(await doctor(moved), /! gemini +no login and no API key found/)
  mkdirSync(join(pcc.home, 'moved', '.gemini'), { recursive: true })
  writeFileSync(join(pcc.home, 'moved', '.gemini', 'oauth_creds.json'), '')
  assert.match(await doctor(moved), /✓ gemini +logs in with its credentials in .*moved/)
})

test('an agent of a malformed setting is refused where it is typed', async t => {
  const pcc = pccWith(t, {})
  const { code, stderr } = await pcc.run(['start', '.', '--task', 'x', '--agent', 'gemini "x'])
  assert.equal(code, 2)
  assert.match(stderr, /--agent.*quote that is not closed \(character 8\)/)
})
