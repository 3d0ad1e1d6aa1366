import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { AppError } from '../../base/errors.ts'
import type { SessionView, StartSession } from '../../domain/api.ts'
import { openClient } from '../client.ts'
import { type Context, contextOf, ExitCode } from '../context.ts'
import { runView } from '../live/run-view.ts'
import { startHeader } from '../render/header.ts'
import { firstLine } from '../render/text.ts'
import { taskText } from '../requirements.ts'
import { sessionEnvironment } from '../session-env.ts'

interface StartOptions {
  task?: string
  requirements?: string
  model?: string
  maxTurns?: number
  allowedTools?: string[]
  disallowedTools?: string[]
  detach?: boolean
  sessionName?: string
  resume?: string
  fork?: boolean
  record?: string
}

/** `pcc start`: a new supervised session, watched here or left in the background. */
export function addStartCommand(program: Command): void {
  program
    .command('start')
    .description('Start a supervised Claude Code session.')
    .argument('<project-path>', 'the project directory')
    .option('--task <text>', 'what to do')
    .option('--requirements <path>', 'a file that says what to do (Markdown, YAML or text)')
    .option('--model <name>', 'the model the agent uses')
    .option('--max-turns <n>', 'stop after this many turns', positive)
    .option('--allowed-tools <names>', 'tools that need no question, comma-separated', names)
    .option('--disallowed-tools <names>', 'tools the agent may never use, comma-separated', names)
    .option('--detach', 'start in the background')
    .option('--session-name <name>', 'a name for the session')
    .option('--resume <vendor-id>', 'go on from a conversation of Claude Code (see: pcc agents sessions)')
    .option('--fork', 'with --resume: leave the old conversation as it is and go on in a copy')
    .option('--record <file>', 'keep the agent’s raw messages, one JSON object a line')
    .option('--json', 'print events as JSON lines (with --detach: the session as JSON)')
    .action(async (project: string, options: StartOptions, command: Command) => {
      throw new ExitCode(await start(project, options, await contextOf(command)))
    })
}

async function start(path: string, options: StartOptions, context: Context): Promise<number> {
  if (options.fork && !options.resume) {
    throw new AppError('usage', { problem: '--fork needs --resume <vendor-id>', command: 'start' })
  }
  const project = projectAt(path)
  const task = taskText(options.task, options.requirements)
  const env = await sessionEnvironment(context.places, context.env)
  const client = await openClient(context.places, context)
  const session = await client.request<SessionView>('POST', '/sessions', requestOf({ project, task, env, options }))
  if (options.detach) return detached(session, context)
  if (!context.json) {
    const { terminal } = context
    const header = startHeader(session, { terminal, cwd: process.cwd(), home: context.env['HOME'] })
    for (const line of header) context.out(line)
  }
  return runView({ client, session, context, after: 0, env })
}

interface Wanted {
  project: string
  task: string
  env: Record<string, string>
  options: StartOptions
}

function requestOf({ project, task, env, options }: Wanted): StartSession {
  return {
    project,
    task,
    env,
    ...(options.sessionName && { name: options.sessionName }),
    ...(options.model && { model: options.model }),
    ...(options.maxTurns && { max_turns: options.maxTurns }),
    ...(options.allowedTools && { allowed_tools: options.allowedTools }),
    ...(options.disallowedTools && { disallowed_tools: options.disallowedTools }),
    ...(options.resume && { resume: { vendor_id: options.resume, fork: options.fork === true } }),
    ...(options.record && { record: resolve(options.record) }),
  }
}

function detached(session: SessionView, { json, out }: Context): number {
  if (json) out(JSON.stringify(session, null, 2))
  else {
    out(`Session started: ${session.id} (${firstLine(session.name)})`)
    out(`Attach with: pcc attach ${session.id}`)
  }
  return 0
}

/** Looked at here as well as by the daemon: a mistyped path should not start one. */
function projectAt(path: string): string {
  const project = resolve(path)
  const found = statSync(project, { throwIfNoEntry: false })
  if (!found) throw new AppError('project_missing', { path })
  if (!found.isDirectory()) throw new AppError('project_not_directory', { path })
  return project
}

function positive(value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw new InvalidArgumentError('It must be a whole number above 0.')
  return Number(value)
}

/** Rules may hold commas inside parentheses: `Bash(git log:*),Read`. */
function names(value: string, before: string[] = []): string[] {
  const found =
    value
      .match(/(?:\([^)]*\)|[^,(])+/g)
      ?.map(name => name.trim())
      .filter(Boolean) ?? []
  if (found.length === 0) throw new InvalidArgumentError('Name at least one tool.')
  return [...before, ...found]
}
