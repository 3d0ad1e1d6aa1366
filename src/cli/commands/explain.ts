import { resolve } from 'node:path'
import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import { FILE_TOOLS } from '../../domain/file-tools.ts'
import { type CommandContext, commandContext } from '../context.ts'

interface ExplainOptions {
  tool?: string
  path?: string
  input?: string
  project: string
  batch?: boolean
}

/** `pcc explain`: what the policy decides about a call, and why. Nothing is run and no daemon is needed. */
export function addExplainCommand(program: Command): void {
  program
    .command('explain')
    .description('Show what the policy decides about a command or another tool call, and why; run nothing')
    .argument('[command...]', 'a shell command; quote it if it has options or special characters')
    .option('--tool <name>', 'a tool other than Bash: Read, Write, WebFetch, mcp__server__tool …')
    .option('--path <path>', 'the file that the tool is called with')
    .option('--input <json>', 'the whole input of the tool, as JSON')
    .option('--project <dir>', 'as seen from this project', '.')
    .option('--batch', 'read calls as JSON lines from stdin, write verdicts as JSON lines')
    .option('--json', 'print JSON')
    .action(async (words: string[], options: ExplainOptions, command: Command) => {
      const text = words.length === 0 ? undefined : words.join(' ')
      const context = await commandContext(command)
      if (options.batch) return explainBatch(context, text, options)
      const call = { ...readCall(text, options), project: resolve(options.project), home: findHome(context) }
      const { explainCall } = await import('./explain-call.ts')
      await explainCall(call, context)
    })
}

async function explainBatch(context: CommandContext, text: string | undefined, options: ExplainOptions): Promise<void> {
  if (text !== undefined || options.tool || options.path || options.input)
    throw usage('--batch reads its calls from stdin and takes no other')
  const [{ runBatch }, { loadProjectPolicy }, { openRememberedAnswers }] = await Promise.all([
    import('./explain-batch.ts'),
    import('../../supervisor/judge-call.ts'),
    import('../../store/offline-reads.ts'),
  ])
  const { paths, env } = context
  const project = resolve(options.project)
  using answers = openRememberedAnswers(paths.database)
  // An invalid rules file is reported once, at the start; the verdict of each line then follows from that.
  const policy = await loadProjectPolicy({ paths, env, project, answers })
  if (policy.problem) context.note(`${policy.problem.message}. ${policy.problem.next}`)
  await runBatch({
    input: process.stdin,
    output: process.stdout,
    project,
    home: findHome(context),
    policyFor: path => loadProjectPolicy({ paths, env, project: path, answers }),
  })
}

/** The input field in which each tool that is no file tool names its folder; `file_path` for unknown ones. */
const PATH_FIELDS: Record<string, string> = { Glob: 'path', Grep: 'path' }

function readCall(text: string | undefined, { tool, path, input }: ExplainOptions): { tool: string; input: unknown } {
  const count = [text, path, input].filter(value => value !== undefined).length
  if (count > 1) throw usage('give one of a command, --path and --input')
  const name = tool ?? 'Bash'
  if (input !== undefined) return { tool: name, input: parseInput(input) }
  if (path !== undefined) {
    if (tool === undefined) throw usage('--path needs --tool: Read, Write, Edit …')
    return { tool: name, input: { [FILE_TOOLS.get(name)?.keys[0] ?? PATH_FIELDS[name] ?? 'file_path']: path } }
  }
  if (name === 'Bash' && text === undefined) throw usage('give a command, or --tool with --path or --input, or --batch')
  return { tool: name, input: text === undefined ? {} : { command: text } }
}

function parseInput(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw usage('--input is not valid JSON')
  }
}

function findHome({ env, paths }: CommandContext): string {
  return env['HOME'] || paths.home
}

function usage(problem: string): AppError {
  return new AppError('usage', { problem, command: 'explain' })
}
