import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { BY_REFUSAL, isHeldByHooks, QUESTION } from '../../hooks/by-hand.ts'
import { codexEnv } from '../../programs/codex.ts'
import { program } from '../../programs/programs.ts'

test('Codex in a terminal of a person is refused a HIGH call, allowed what it would ask about, answered from memory and held by a failing test, with and without the daemon, and by a second opinion', t =>
  isHeldByHooks(t, {
    vendor: 'codex',
    settings: '.codex/hooks.json',
    env(home, url) {
      const env = codexEnv(home, url)
      // The daemon asks a second Codex.
      const daemon = { PATH: `${dirname(program('codex'))}:${env['PATH']}`, PCC_AGENTS_ENV: 'SIMULATOR_KEY' }
      return { ...env, ...daemon }
    },
    agree: trustHooks,
    // Its background server would outlive the test.
    command: prompt => [program('codex'), '--no-daemon', '-a', 'on-request', '-s', 'workspace-write', prompt],
    // Outside its sandbox, Codex asks.
    shell: cmd => ({ exec_command: { cmd, sandbox_permissions: 'require_escalated', justification: 'it is needed' } }),
    ask: { request_user_input: { questions: [{ ...QUESTION, id: 'database' }] } },
    answered: BY_REFUSAL,
    judged: 'second_opinion = "codex"',
  }))

interface Listed {
  id?: number
  result?: { data: { hooks: { key: string; currentHash: string }[] }[] }
}

/** What a person does with /hooks: Codex's own hash of each hook goes into its settings. They also trust the project, as at a first start. */
async function trustHooks({ home, project, env }: Parameters<NonNullable<Agree>>[0]): Promise<void> {
  const server = spawn(program('codex'), ['app-server'], { cwd: project, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const messages = [
    { id: 1, method: 'initialize', params: { clientInfo: { name: 'test', version: '1' } } },
    { method: 'initialized' },
    { id: 2, method: 'hooks/list', params: { cwds: [project] } },
  ]
  server.stdin.write(messages.map(message => `${JSON.stringify(message)}\n`).join(''))
  let hooks: { key: string; currentHash: string }[] = []
  for await (const line of createInterface(server.stdout)) {
    const { id, result } = JSON.parse(line) as Listed
    if (id !== 2) continue
    hooks = result?.data[0]?.hooks ?? []
    break
  }
  const isOver = once(server, 'exit')
  server.kill()
  await isOver
  const trusted = hooks.map(({ key, currentHash }) => `[hooks.state."${key}"]\ntrusted_hash = "${currentHash}"\n`)
  const settings = [
    '[features]\ndefault_mode_request_user_input = true\n',
    '[notice.model_migrations]\n"gpt-5.5" = "gpt-6-sol"\n',
    `[projects."${project}"]\ntrust_level = "trusted"\n`,
    ...trusted,
  ]
  appendFileSync(join(home, '.codex/config.toml'), settings.join(''))
}

type Agree = Parameters<typeof isHeldByHooks>[1]['agree']
