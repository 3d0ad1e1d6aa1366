import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Command } from 'commander'
import { agentMissing } from '../../agents/manifests/agent-missing.ts'
import { claudeManifest } from '../../agents/manifests/claude.ts'
import { messageOf } from '../../base/errors.ts'
import { type Context, contextOf, ExitCode } from '../context.ts'

interface LoginOptions {
  console?: boolean
  sso?: boolean
  email?: string
}

/** `pcc agents login` and `pcc agents path`: Claude Code is not on the PATH where it came with pcc. */
export function addLoginCommands(agents: Command): void {
  agents
    .command('login')
    .description('Log in to Claude with the Claude Code that pcc uses; it opens your browser.')
    .option('--console', 'an account that is billed by use, in place of a subscription')
    .option('--sso', 'log in through your organisation')
    .option('--email <address>', 'fill in this address on the login page')
    .action(async (options: LoginOptions, command: Command) => {
      const context = await contextOf(command)
      throw new ExitCode(await login(await programOf(context), options, context))
    })
  agents
    .command('path')
    .description('Print where the Claude Code that pcc uses lies.')
    .action(async (_options: unknown, command: Command) => {
      const context = await contextOf(command)
      context.out(await programOf(context))
    })
}

async function programOf({ places, env }: Context): Promise<string> {
  const { loadConfig } = await import('../../domain/config/load.ts')
  const { config } = await loadConfig({ places, env })
  if (config.agents.path !== undefined) return config.agents.path
  return (await import('../../agents/claude/program.ts')).bundledProgram()
}

/** The person's own terminal and environment: it is their login, and it goes where Claude Code keeps it. */
async function login(program: string, options: LoginOptions, { env }: Context): Promise<number> {
  const flags = [
    ...(options.console ? ['--console'] : []),
    ...(options.sso ? ['--sso'] : []),
    ...(options.email ? ['--email', options.email] : []),
  ]
  const child = spawn(program, ['auth', 'login', ...flags], { stdio: 'inherit', env })
  // Ctrl+C reaches the child as well, and it is the child's to answer.
  const wait = () => undefined
  process.on('SIGINT', wait)
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    return code ?? 130
  } catch (error) {
    throw agentMissing(claudeManifest, messageOf(error), error)
  } finally {
    process.off('SIGINT', wait)
  }
}
