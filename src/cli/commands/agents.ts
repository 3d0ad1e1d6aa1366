import { resolve } from 'node:path'
import type { Command } from 'commander'
import { dateTime } from '../../base/clock.ts'
import { claudeAgent } from '../../domain/agents/claude.ts'
import { agentMissingError } from '../../domain/agents/find-manifest.ts'
import { tryAccounts } from '../connection/client.ts'
import { type CommandContext, commandContext, ExitCode } from '../context.ts'
import { shownPath } from '../render/format.ts'
import { cut, firstLine } from '../render/text.ts'
import { runInTerminal } from '../run-in-terminal.ts'
import type { FoundAgent } from './agents-survey.ts'
import { projectDirectory } from './start-session.ts'

/** `pcc agents …`: which agents are installed, the login, and the agent's own past conversations. */
export function addAgentsCommand(program: Command): void {
  const agents = program
    .command('agents')
    .description('List the agents, log in, and look at their own past conversations')
  addSurveyCommands(agents)
  addLoginCommands(agents)
  agents
    .command('sessions')
    .description('List Claude Code’s own past conversations, to resume one with: pcc start --resume')
    .argument('[path]', 'only conversations of this project')
    .option('--json', 'print JSON')
    .action(async (path: string | undefined, _options: unknown, command: Command) => {
      const { env, json, out, terminal } = await commandContext(command)
      const { pastSessions } = await import('../../agents/claude/past-sessions.ts')
      const sessions = await pastSessions({ env, ...(path && { dir: resolve(path) }) })
      if (path && sessions.length === 0) projectDirectory(path)
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
    .description('List the agents that pcc can drive: where each is installed, and which of its calls pcc gates')
    .option('--json', 'print JSON')
    .action(async (_options: unknown, command: Command) => {
      const context = await commandContext(command)
      const surveyed = await survey(context, { starts: false })
      const { agentJson, agentTable } = await import('./agents-survey.ts')
      if (context.json) return context.out(JSON.stringify({ agents: surveyed.map(agentJson) }, null, 2))
      for (const line of agentTable(surveyed, context.terminal)) context.out(line)
    })
  agents
    .command('doctor')
    .description('Check every agent: what is installed, what is wrong, how to get the rest')
    .option('--json', 'print JSON')
    .action(async (_options: unknown, command: Command) => {
      const context = await commandContext(command)
      const surveyed = await survey(context, { starts: true })
      const [{ agentFindings, agentJson }, { findingLines }] = await Promise.all([
        import('./agents-survey.ts'),
        import('./doctor-checks.ts'),
      ])
      const findings = surveyed.flatMap(agent => agentFindings(agent, context.env))
      const isOk = findings.every(({ level }) => level !== 'problem')
      const lines = context.json
        ? [JSON.stringify({ ok: isOk, findings, agents: surveyed.map(agentJson) }, null, 2)]
        : findingLines(findings, context.terminal)
      for (const line of lines) context.out(line)
      throw new ExitCode(isOk ? 0 : 1)
    })
}

/** Surveys the agents under the settings that a session in this directory would have. */
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

/** `pcc agents login` and `pcc agents path`: a Claude Code that came with pcc is not on the PATH. */
function addLoginCommands(agents: Command): void {
  agents
    .command('login')
    .description('Log in to Claude with the Claude Code that pcc uses; it opens your browser')
    .option('--console', 'an account that is billed by use, instead of a subscription')
    .option('--sso', 'log in through your organisation')
    .option('--email <address>', 'fill in this address on the login page')
    .action(async (options: LoginOptions, command: Command) => {
      const context = await commandContext(command)
      throw new ExitCode(await login(await findClaudeProgram(context), options, context))
    })
  agents
    .command('path')
    .description('Print the path of the Claude Code that pcc uses')
    .action(async (_options: unknown, command: Command) => {
      const context = await commandContext(command)
      context.out(await findClaudeProgram(context))
    })
}

async function findClaudeProgram({ paths, env }: CommandContext): Promise<string> {
  const { loadConfig } = await import('../../domain/config/load.ts')
  const { config } = await loadConfig({ paths, env, project: null }) // a login is not for one project
  if (config.agents.path !== undefined) return config.agents.path
  return (await import('../../agents/claude/bundled-program.ts')).bundledProgram()
}

/** Runs in the person's own terminal and environment: the login is theirs, and Claude Code stores it in its usual place. */
async function login(program: string, options: LoginOptions, { env, paths }: CommandContext): Promise<number> {
  const flags = [
    ...(options.console ? ['--console'] : []),
    ...(options.sso ? ['--sso'] : []),
    ...(options.email ? ['--email', options.email] : []),
  ]
  const { code, error } = await runInTerminal({ command: program, args: ['auth', 'login', ...flags], env })
  if (error) throw agentMissingError(claudeAgent, error.message, error)
  if (code === 0) await tryAccounts(paths)
  return code ?? 130
}
