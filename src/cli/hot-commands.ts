import { appPathsFor, dataDirectoryHint } from '../base/app-paths.ts'
import { programVersion } from '../base/program.ts'
import { showList } from './commands/list.ts'
import { ANSWER_MS, rawRequest } from './connection/raw-request.ts'
import { terminalOf } from './render/text.ts'

type FlagKinds = Record<string, 'value' | 'switch'>

/** The few commands that must start within milliseconds, and every flag they accept. */
export const HOT_FLAGS = {
  list: { '--status': 'value', '--project': 'value', '--json': 'switch' },
  status: { '--show-history': 'switch', '--show-decisions': 'switch', '--json': 'switch' },
  /** Only `task list`. */
  task: {
    '--project': 'value',
    '--all': 'switch',
    '--feature': 'value',
    '--state': 'value',
    '--ready': 'switch',
    '--label': 'value',
    '--text': 'value',
    '--json': 'switch',
  },
  start: {
    '--task': 'value',
    '--requirements': 'value',
    '--agent': 'value',
    '--model': 'value',
    '--max-turns': 'value',
    '--allowed-tools': 'value',
    '--disallowed-tools': 'value',
    '--auto-approve': 'switch',
    '--no-auto-approve': 'switch',
    '--auto-resume': 'switch',
    '--no-auto-resume': 'switch',
    '--budget': 'value',
    '--priority': 'value',
    '--brain': 'value',
    '--brain-model': 'value',
    '--confidence': 'value',
    '--worktree': 'switch',
    '--host': 'value',
    '--detach': 'switch',
    '--session-name': 'value',
    '--resume': 'value',
    '--fork': 'switch',
    '--record': 'value',
    '--json': 'switch',
  },
} as const satisfies Record<string, FlagKinds>

/** Options of every command; they may come before or after its name. */
const GLOBAL_FLAGS: FlagKinds = {
  '--config': 'value',
  '--data-dir': 'value',
  '--verbose': 'switch',
  '--quiet': 'switch',
}

const OPERANDS = { list: 0, status: 1, task: 1, start: 1 } as const

export interface HotCall {
  command: keyof typeof HOT_FLAGS
  operand: string
  flags: Record<string, string | true>
}

/** Parses the arguments of a hot command. Anything that is not clearly valid is left to commander, which explains the problem. */
export function readHotCall(argv: string[]): HotCall | undefined {
  const words: string[] = []
  const flags: HotCall['flags'] = {}
  for (let index = 0; index < argv.length; index++) {
    const arg = argv[index] ?? ''
    if (!arg.startsWith('-')) {
      words.push(arg)
      continue
    }
    const [name = '', inline] = splitOnce(arg)
    const kind = findFlagKind(name, words[0])
    const value = inline ?? (kind === 'value' ? argv[++index] : undefined)
    if (kind === 'switch' ? value !== undefined : !kind || !value || value.startsWith('-')) return undefined
    // A repeated flag: some add up and others replace; commander knows which.
    if (Object.hasOwn(flags, name)) return undefined
    flags[name] = value ?? true
  }
  const [command, operand = ''] = words
  if (!isHotCommand(command) || words.length !== OPERANDS[command] + 1) return undefined
  if (command === 'task' && operand !== 'list') return undefined
  return { command, operand, flags }
}

/** Before the command's name only the global options are accepted. */
function findFlagKind(name: string, command: string | undefined): FlagKinds[string] | undefined {
  const own: FlagKinds = isHotCommand(command) ? HOT_FLAGS[command] : {}
  const all: FlagKinds = { ...GLOBAL_FLAGS, ...own }
  return Object.hasOwn(all, name) ? all[name] : undefined
}

function isHotCommand(word: string | undefined): word is keyof typeof HOT_FLAGS {
  return word !== undefined && Object.hasOwn(HOT_FLAGS, word)
}

function splitOnce(arg: string): [string, string | undefined] {
  const at = arg.indexOf('=')
  return at < 0 ? [arg, undefined] : [arg.slice(0, at), arg.slice(at + 1)]
}

/**
 * Runs a hot command against a running daemon and returns the exit code. Returns `undefined` when no daemon answers: the
 * slow path then starts one.
 */
export async function runHotCommand({ command, operand, flags }: HotCall): Promise<number | undefined> {
  const { env } = process
  const [configFile, dataDir] = [stringValue(flags['--config']), stringValue(flags['--data-dir'])]
  const paths = appPathsFor({ env, configFile, dataDir })
  if (dataDirectoryHint(paths, env) === 'look') return undefined
  const lines: string[] = []
  const fetchBytes = async (path: string, take?: (piece: Buffer) => void) => {
    const reply = await rawRequest({ socket: paths.socket, tokenFile: paths.tokenFile, path, ...(take && { take }) })
    if (!reply) throw new DaemonNotAnswering()
    if (reply.status >= 400) throw (await import('./errors.ts')).remoteError(JSON.parse(reply.bytes.toString()))
    await compareVersions(reply.headers['x-pcc-version'], flags['--quiet'] === true)
    return reply.bytes
  }
  const access = {
    terminal: terminalOf(process.stdout, env),
    out: (line: string) => lines.push(line),
    body: (path: string) => fetchBytes(path),
    pass: async (path: string) => {
      const rest = await fetchBytes(path, piece => process.stdout.write(piece))
      process.stdout.write(`${rest}\n`)
    },
    get: async (path: string): Promise<unknown> => JSON.parse((await access.body(path)).toString()),
  }
  const json = flags['--json'] === true
  try {
    if (command === 'list') {
      await showList({ status: stringValue(flags['--status']), project: stringValue(flags['--project']), json }, access)
    } else if (command === 'task') {
      const { showTasks } = await import('./commands/task/list.ts')
      await showTasks(taskListOptions(flags), access)
    } else {
      const [showHistory, showDecisions] = [flags['--show-history'] === true, flags['--show-decisions'] === true]
      const { showStatus } = await import('./commands/status.ts')
      await showStatus({ ref: operand, showHistory, showDecisions, json }, access)
    }
  } catch (error) {
    if (error instanceof DaemonNotAnswering) return undefined
    if ((error as NodeJS.ErrnoException).code === 'ETIMEDOUT')
      throw (await import('./connection/start-daemon.ts')).silentDaemonError(paths, ANSWER_MS)
    throw error
  }
  if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`)
  return 0
}

class DaemonNotAnswering extends Error {}

/** Warns when the daemon's version differs: after an update the old daemon still runs and answers. */
export async function compareVersions(running: string | undefined, quiet: boolean): Promise<void> {
  if (running === undefined || quiet) return
  const own = programVersion()
  if (running !== own) (await import('./errors.ts')).warnOfVersion(running, own)
}

function taskListOptions(flags: HotCall['flags']) {
  return {
    project: stringValue(flags['--project']),
    all: flags['--all'] === true,
    feature: stringValue(flags['--feature']),
    state: stringValue(flags['--state']),
    ready: flags['--ready'] === true ? true : undefined,
    label: stringValue(flags['--label']),
    text: stringValue(flags['--text']),
    json: flags['--json'] === true,
  }
}

function stringValue(value: string | true | undefined): string | undefined {
  return value === true ? undefined : value
}
