import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../../src/base/app-paths.ts'
import type { HookCheck } from '../../../../src/cli/commands/hooks/doctor.ts'
import { HookOutbox } from '../../../../src/supervisor/hooks/outbox.ts'
import { type Pcc, pccFor } from '../../pcc.ts'

/** Programs that only say their version. */
function putPrograms({ home, env }: Pcc, versions: Record<string, string>): Record<string, string> {
  const bin = join(home, 'bin')
  mkdirSync(bin, { recursive: true })
  for (const [name, version] of Object.entries(versions)) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho '${version}'\n`)
    chmodSync(join(bin, name), 0o700)
  }
  return { PATH: `${bin}:${env['PATH']}` }
}

/** What `pcc hooks doctor` found, by agent and thing. */
async function examine({ run }: Pcc, flags: string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await run(['hooks', 'doctor', ...flags, '--json'], { env })
  assert.notEqual(stdout, '', stderr)
  const { agents } = JSON.parse(stdout) as { agents: { agent: string; checks: HookCheck[] }[] }
  const found = agents.flatMap(({ agent, checks }) =>
    checks.map(({ what, result, says }) => [`${agent} ${what}`, `${result}: ${says}`] as const),
  )
  return { code, checks: new Map(found) }
}

test('the doctor tries the hooks of each agent, and says what must stand behind those that fail open', async t => {
  const pcc = pccFor(t)
  const env = putPrograms(pcc, { claude: '2.1.400 (Claude Code)', codex: 'codex-cli 0.100.0' })
  const bare = await examine(pcc, ['--claude', '--codex', '--gemini'], env)
  assert.equal(bare.code, 1, 'Codex is too old')
  assert.match(bare.checks.get('claude program') ?? '', /^ok: 2\.1\.400; tried with 2\.1\.325/)
  assert.match(bare.checks.get('claude hooks') ?? '', /^warning: none.*pcc hooks install --claude/)
  assert.match(bare.checks.get('codex program') ?? '', /^failed: 0\.100\.0 is older than 0\.166\.0/)
  assert.match(bare.checks.get('gemini program') ?? '', /^warning: Gemini CLI is not on the PATH/)

  const agents = ['--claude', '--codex', '--gemini', '--copilot']
  assert.equal((await pcc.run(['hooks', 'install', ...agents, '--yes'], { env })).code, 0)
  const { checks, code } = await examine(pcc, agents, env)
  assert.equal(code, 1)
  for (const agent of ['claude', 'codex', 'gemini', 'copilot']) {
    assert.match(checks.get(`${agent} your settings`) ?? '', /^ok: hooks installed in /)
    assert.match(checks.get(`${agent} try`) ?? '', /^ok: answered in \d+ ms/, agent)
  }
  assert.equal(checks.get('claude if a hook dies'), 'ok: Claude Code blocks the call')
  assert.match(checks.get('gemini if a hook dies') ?? '', /^warning: .*no|not use --yolo/)
  assert.match(checks.get('codex trust of Codex') ?? '', /^failed: Codex runs none .*\/hooks \(0 of \d+ trusted/)
  assert.equal((await pcc.run(['hooks', 'log', '--json'])).stdout, '', 'a try is not an observed session')
})

test('the doctor finds what keeps hooks from working: comments, switches, other hooks and trust', async t => {
  const pcc = pccFor(t)
  const claude = join(pcc.home, '.claude/settings.json')
  const codex = join(pcc.home, '.codex')
  mkdirSync(join(pcc.home, '.claude'))
  mkdirSync(codex)
  const other = { hooks: [{ type: 'command', command: '/opt/other' }] }
  const own = { disableAllHooks: true, hooks: { PreToolUse: [other] } }
  writeFileSync(claude, `// mine\n${JSON.stringify(own)}`)
  const installed = await pcc.run(['hooks', 'install', '--claude', '--codex', '--yes'])
  assert.match(installed.stdout, /Claude Code ignores .*settings\.json because it has comments/)

  const hooks = JSON.parse(readFileSync(join(codex, 'hooks.json'), 'utf8')) as { hooks: Record<string, unknown> }
  const trusted = Object.keys(hooks.hooks).map(
    name => `[hooks.state."${codex}/hooks.json:${name}:0:0"]\ntrusted_hash = "sha256:0"\n`,
  )
  writeFileSync(join(codex, 'config.toml'), trusted.join(''))
  const first = await examine(pcc, ['--claude', '--codex'])
  assert.match(first.checks.get('claude comments') ?? '', /^failed: Claude Code ignores .*take them out/)
  assert.match(first.checks.get('claude switch') ?? '', /^failed: .*switches all hooks off/)
  assert.match(first.checks.get('claude other hooks') ?? '', /^warning: \/opt\/other is asked too/)
  assert.match(first.checks.get('codex trust of Codex') ?? '', /^ok: /)
  assert.equal(first.checks.has('codex comments'), false)

  assert.equal(first.checks.has('claude record'), false)

  // A script of an agent has filled what waits for the daemon.
  const { data } = appPathsFor({ env: pcc.env })
  mkdirSync(join(data, 'hook-outbox'), { recursive: true })
  writeFileSync(join(data, 'hook-outbox/current.jsonl'), '')
  truncateSync(join(data, 'hook-outbox/current.jsonl'), 64_000_000)
  assert.equal(new HookOutbox({ data }).add([{}]), false)
  writeFileSync(join(codex, 'config.toml'), trusted.slice(1).join(''))
  writeFileSync(claude, readFileSync(claude, 'utf8').replace('// mine\n', '').replace('true', 'false'))
  const mended = await examine(pcc, ['--claude', '--codex'])
  assert.equal(mended.checks.has('claude comments'), false)
  assert.equal(mended.checks.has('claude switch'), false)
  assert.match(mended.checks.get('codex trust of Codex') ?? '', /^failed: /)
  assert.match(mended.checks.get('claude record') ?? '', /^warning: since .* nothing is recorded.*pcc daemon start/)

  const launcher = join(pcc.env['PCC_HOME'] ?? '', 'hooks/run')
  rmSync(launcher)
  assert.match((await examine(pcc, ['--claude'])).checks.get('claude try') ?? '', /^failed: .*pcc hooks install/)
})
