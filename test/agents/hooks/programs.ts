import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { claudeHooks } from '../../../src/agents/hooks/claude.ts'
import { codexHooks } from '../../../src/agents/hooks/codex.ts'
import { copilotHooks } from '../../../src/agents/hooks/copilot.ts'
import { geminiHooks } from '../../../src/agents/hooks/gemini.ts'
import type { HookManifest, HookVendor } from '../../../src/domain/hooks.ts'
import { agentEnv } from '../../support/world.ts'
import { codexEnv } from '../programs/codex.ts'
import { copilotEnv } from '../programs/copilot.ts'
import { GEMINI_MODEL, geminiOnceEnv } from '../programs/gemini.ts'
import { program } from '../programs/programs.ts'

interface Start {
  home: string
  url: string
  prompt: string
  /** The command of a hook. */
  hook(native: string): string
}

interface Program {
  /** How a person starts the program with one prompt, with our hook at every event of the manifest. */
  start(options: Start): { command: string; args: string[]; env: Record<string, string> }
}

export const PROGRAMS: Record<HookVendor, Program> = {
  claude: {
    start({ home, url, prompt, hook }) {
      const hooks = groupHooks(claudeHooks, native => ({ command: hook(native), timeout: 20, onFailure: 'block' }))
      mkdirSync(join(home, '.claude'))
      writeFileSync(join(home, '.claude/settings.json'), JSON.stringify({ hooks }))
      return { command: claudeProgram(), args: ['-p', prompt], env: { ...agentEnv(home, url), IS_SANDBOX: '1' } }
    },
  },
  codex: {
    start({ home, url, prompt, hook }) {
      const env = codexEnv(home, url)
      const hooks = groupHooks(codexHooks, native => ({ command: hook(native), timeout: 3 }))
      writeFileSync(join(home, '.codex/hooks.json'), JSON.stringify({ hooks }))
      const flags = ['--skip-git-repo-check', '--dangerously-bypass-hook-trust', '-s', 'workspace-write']
      return { command: program('codex'), args: ['exec', ...flags, prompt], env }
    },
  },
  gemini: {
    start({ home, url, prompt, hook }) {
      const env = geminiOnceEnv(home, url)
      const file = join(home, '.gemini/settings.json')
      const settings = JSON.parse(readFileSync(file, 'utf8')) as object
      const hooks = groupHooks(geminiHooks, native => ({ command: hook(native), timeout: 20_000 }))
      writeFileSync(file, JSON.stringify({ ...settings, hooks }))
      return { command: program('gemini'), args: ['-m', GEMINI_MODEL, '-p', prompt], env }
    },
  },
  copilot: {
    start({ home, url, prompt, hook }) {
      const natives = Object.values(copilotHooks.events).flat()
      const hooks = Object.fromEntries(
        natives.map(native => [native, [{ type: 'command', bash: hook(native), timeoutSec: 20 }]]),
      )
      mkdirSync(join(home, '.copilot/hooks'), { recursive: true })
      writeFileSync(join(home, '.copilot/hooks/pcc.json'), JSON.stringify({ version: 1, hooks }))
      return { command: program('copilot'), args: ['-p', prompt, '--no-auto-update'], env: copilotEnv(home, url) }
    },
  },
}

/** The form that Claude Code, Codex and Gemini CLI share. */
function groupHooks({ events }: HookManifest, hook: (native: string) => object): Record<string, unknown> {
  const natives = Object.values(events).flat()
  return Object.fromEntries(natives.map(native => [native, [{ hooks: [{ type: 'command', ...hook(native) }] }]]))
}

/** The program that comes with the SDK. */
function claudeProgram(): string {
  const { resolve } = createRequire(import.meta.resolve('@anthropic-ai/claude-agent-sdk'))
  return resolve(`@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`)
}
