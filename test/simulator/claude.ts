import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { agentEnv } from '../support/world.ts'

/** The result of one run of the real `claude -p`. */
export interface ClaudeRun {
  code: number | null
  session: string
  result: { text: string; is_error: boolean; terminal_reason: string; api_error_status: number | null; denials: number }
  messages: Record<string, unknown>[]
}

interface ClaudeOptions {
  url: string
  home: string
  cwd: string
  prompt: string
  auth?: 'key' | 'oauth'
  args?: string[]
  env?: Record<string, string>
}

/** Runs the real Claude Code once, with an environment of its own, and ends it after 30 s at the latest. */
export async function runClaude({
  url,
  home,
  cwd,
  prompt,
  auth = 'key',
  args = [],
  env = {},
}: ClaudeOptions): Promise<ClaudeRun> {
  const child = spawn(
    claudeBinary(),
    ['-p', prompt, '--output-format', 'stream-json', '--verbose', '--setting-sources', '', ...args],
    {
      cwd,
      env: { ...agentEnv(home, url, auth), CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 30_000,
      killSignal: 'SIGKILL',
    },
  )
  const output: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const lines = Buffer.concat(output).toString('utf8').split('\n').filter(Boolean)
  const messages = lines.map(line => JSON.parse(line) as Record<string, unknown>)
  const last = messages.findLast(message => message['type'] === 'result') ?? {}
  return {
    code,
    session: String(last['session_id']),
    result: {
      text: String(last['result'] ?? ''),
      is_error: last['is_error'] === true,
      terminal_reason: String(last['terminal_reason']),
      api_error_status: (last['api_error_status'] as number | null | undefined) ?? null,
      denials: (last['permission_denials'] as unknown[] | undefined)?.length ?? 0,
    },
    messages,
  }
}

export function claudeBinary(): string {
  const require = createRequire(import.meta.url)
  const name = `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}`
  return join(dirname(require.resolve(`${name}/package.json`)), 'claude')
}
