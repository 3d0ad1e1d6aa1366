import type { Command } from 'commander'
import { type Context, contextOf, ExitCode } from '../context.ts'
import type { FoundAgent } from './survey.ts'

/** `pcc agents list` and `pcc agents doctor`. */
export function addSurveyCommands(agents: Command): void {
  agents
    .command('list')
    .description('List the agents that pcc can drive: where each is found, and what it is held to.')
    .option('--json', 'print JSON')
    .action(async (_options: unknown, command: Command) => {
      const context = await contextOf(command)
      const found = await survey(context, { starts: false })
      const { agentJson, agentTable } = await import('./list.ts')
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
        import('./findings.ts'),
        import('../doctor/lines.ts'),
        import('./list.ts'),
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
async function survey({ places, env }: Context, { starts }: { starts: boolean }): Promise<FoundAgent[]> {
  const [{ surveyAgents }, { loadSettings }] = await Promise.all([import('./survey.ts'), import('../load-settings.ts')])
  const directory = process.cwd()
  return surveyAgents({ loaded: await loadSettings({ places, env, project: directory }), env, directory, starts })
}
