import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { claudeManifest } from '../../agents/manifests/claude.ts'
import { agentMissingError } from '../../agents/manifests/manifests.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { type CommandContext, contextOf, ExitCode } from '../context.ts'
import { dateTime, shownPath } from '../render/format.ts'
import { cut, firstLine } from '../render/text.ts'
import type { FoundAgent } from './agents-survey.ts'

/** `pcc agents …`: which agent there is, its login, and what it remembers itself. */
export function addAgentsCommand(program: Command): void {
  const agents = program
    .command('agents')
    .description('See which agents there are, log in, and look at their own past conversations.')
  addSurveyCommands(agents)
  addLoginCommands(agents)
  agents
    .command('sessions')
    .description(
      'List Claude Code’s own past conversations; resume one with: pcc start <path> --resume <id> --task "…"',
    )
    .argument('[path]', 'only conversations of this project')
    .option('--json', 'print JSON')
    .action(async (path: string | undefined, _options: unknown, command: Command) => {
      const { env, json, out, terminal } = await contextOf(command)
      const { pastSessions } = await import('../../agents/claude/past-sessions.ts')
      const sessions = await pastSessions({ env, ...(path && { dir: resolve(path) }) })
      if (path && sessions.length === 0 && !existsSync(path)) throw new AppError('project_missing', { path })
      if (json) return out(JSON.stringify({ sessions }, null, 2))
      if (sessions.length === 0)
        return out(path ? `No conversations of Claude Code in ${path}.` : 'No conversations of Claude Code yet.')
      for (const { vendor_id, last_modified, cwd, branch, summary, first_prompt } of sessions) {
        const where = cwd ? `  ${firstLine(shownPath(cwd, process.cwd(), env['HOME']))}` : ''
        out(
          `${terminal.paint('bold', firstLine(vendor_id))}  ${dateTime(last_modified)}${where}${branch ? ` (${firstLine(branch)})` : ''}`,
        )
        out(`  ${cut(firstLine(summary || first_prompt || ''), Math.min(terminal.width, 120) - 2)}`)
      }
    })
}

/** `pcc agents list` and `pcc agents doctor`. */
function addSurveyCommands(agents: Command): void {
  agents
    .command('list')
    .description('List the agents that pcc can drive: where each is found, and what it is held to.')
    .option('--json', 'print JSON')
    .action(async (_options: unknown, command: Command) => {
      const context = await contextOf(command)
      const found = await survey(context, { starts: false })
      const { agentJson, agentTable } = await import('./agents-survey.ts')
      if (context.json) return context.out(JSON.stringify({ agents: found.map(agentJson) }, null, 2))
      for (const line of agentTable(found, context.terminal)) context.out(line)
    })
  agents
    .command('doctor')
    .description(
      'Look at every agent: what is there, what is wrong, how to get the rest (exit code 1 if yours is not usable).',
    )
    .option('--json', 'print JSON')
    .action(async (_options: unknown, command: Command) => {
      const context = await contextOf(command)
      const found = await survey(context, { starts: true })
      const [{ agentFindings }, { findingLines }, { agentJson }] = await Promise.all([
        import('./agents-survey.ts'),
        import('./doctor-checks.ts'),
        import('./agents-survey.ts'),
      ])
      const findings = found.flatMap(one => agentFindings(one, context.env))
      const isWell = findings.every(({ level }) => level !== 'problem')
      const told = context.json
        ? [JSON.stringify({ ok: isWell, findings, agents: found.map(agentJson) }, null, 2)]
        : findingLines(findings, context.terminal)
      for (const line of told) context.out(line)
      throw new ExitCode(isWell ? 0 : 1)
    })
}

/** Under the settings that would hold for a session here. */
async function survey({ paths, env }: CommandContext, { starts }: { starts: boolean }): Promise<FoundAgent[]> {
  const [{ surveyAgents }, { loadSettings }] = await Promise.all([
    import('./agents-survey.ts'),
    import('../load-settings.ts'),
  ])
  const directory = process.cwd()
  return surveyAgents({ loaded: await loadSettings({ paths, env, project: directory }), env, directory, starts })
}

interface LoginOptions {
  console?: boolean
  sso?: boolean
  email?: string
}

/** `pcc agents login` and `pcc agents path`: Claude Code is not on the PATH where it came with pcc. */
function addLoginCommands(agents: Command): void {
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

async function programOf({ paths, env }: CommandContext): Promise<string> {
  const { loadConfig } = await import('../../domain/config/load.ts')
  const { config } = await loadConfig({ paths, env })
  if (config.agents.path !== undefined) return config.agents.path
  return (await import('../../agents/claude/options.ts')).bundledProgram()
}

/** The person's own terminal and environment: it is their login, and it goes where Claude Code keeps it. */
async function login(program: string, options: LoginOptions, { env }: CommandContext): Promise<number> {
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
    throw agentMissingError(claudeManifest, messageOf(error), error)
  } finally {
    process.off('SIGINT', wait)
  }
}
