import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import { addSurveyCommands } from '../agents/commands.ts'
import { contextOf } from '../context.ts'
import { dateTime, shownPath } from '../render/format.ts'
import { cut, firstLine } from '../render/text.ts'
import { addLoginCommands } from './agents-login.ts'

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
      const { pastSessions } = await import('../../agents/claude/conversations/past-sessions.ts')
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
