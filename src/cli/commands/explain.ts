import { resolve } from 'node:path'
import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import { type CommandContext, contextOf } from '../context.ts'

interface ExplainOptions {
  tool?: string
  path?: string
  input?: string
  project: string
  batch?: boolean
}

/** `pcc explain`: what the policy makes of a call, and why. Nothing is run and no daemon is needed. */
export function addExplainCommand(program: Command): void {
  program
    .command('explain')
    .description('Show what the policy makes of a command or another tool call, and why. Nothing is run.')
    .argument('[command]', 'a shell command, as one word')
    .option('--tool <name>', 'another tool than Bash: Read, Write, WebFetch, mcp__server__tool …')
    .option('--path <path>', 'the file that the tool is called with')
    .option('--input <json>', 'the whole input of the tool, as JSON')
    .option('--project <dir>', 'as seen from this project', '.')
    .option('--batch', 'read calls as JSON lines from stdin, write verdicts as JSON lines')
    .option('--json', 'print JSON')
    .action(async (text: string | undefined, options: ExplainOptions, command: Command) => {
      const context = await contextOf(command)
      if (options.batch) return explainBatch(context, text, options)
      const call = { ...callFrom(text, options), project: resolve(options.project), home: homeOf(context) }
      const { explainCall } = await import('./explain-call.ts')
      await explainCall(call, context)
    })
}

async function explainBatch(context: CommandContext, text: string | undefined, options: ExplainOptions): Promise<void> {
  if (text !== undefined || options.tool || options.path || options.input)
    throw usage('--batch reads its calls from stdin and takes no other')
  const { runBatch } = await import('./explain-batch.ts')
  const { loadProjectPolicy } = await import('./explain-call.ts')
  const { paths, env } = context
  const { openRememberedAnswers } = await import('../../store/offline-reads.ts')
  const project = resolve(options.project)
  using answers = openRememberedAnswers(paths.database)
  // A config or rules file that is wrong is told once, at the start; each line then has the verdict that follows from it.
  const own = await loadProjectPolicy({ paths, env, project, answers })
  if (own.problem) context.note(`${own.problem.message}. ${own.problem.next}`)
  await runBatch({
    input: process.stdin,
    output: process.stdout,
    project,
    home: homeOf(context),
    policyFor: each => loadProjectPolicy({ paths, env, project: each, answers }),
  })
}

/** The fields in which tools name their file. */
const PATH_FIELDS: Record<string, string> = { Glob: 'path', Grep: 'path', LS: 'path', NotebookEdit: 'notebook_path' }

function callFrom(text: string | undefined, { tool, path, input }: ExplainOptions): { tool: string; input: unknown } {
  const given = [text, path, input].filter(each => each !== undefined).length
  if (given > 1) throw usage('give one of a command, --path and --input')
  const name = tool ?? 'Bash'
  if (input !== undefined) return { tool: name, input: parsed(input) }
  if (path !== undefined) {
    if (tool === undefined) throw usage('--path needs --tool: Read, Write, Edit …')
    return { tool: name, input: { [PATH_FIELDS[name] ?? 'file_path']: path } }
  }
  if (name === 'Bash' && text === undefined) throw usage('give a command, or --tool with --path or --input, or --batch')
  return { tool: name, input: text === undefined ? {} : { command: text } }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw usage('--input is no JSON')
  }
}

function homeOf({ env, paths }: CommandContext): string {
  return env['HOME'] || paths.home
}

function usage(problem: string): AppError {
  return new AppError('usage', { problem, command: 'explain' })
}
