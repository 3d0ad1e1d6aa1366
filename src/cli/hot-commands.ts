import { quickClient } from './connection/client.ts'
import { type CommandContext, contextFrom } from './context.ts'

type FlagKinds = Record<string, 'value' | 'switch'>

/** The few commands that must start within milliseconds, and every flag they accept. */
export const HOT_FLAGS = {
  list: { '--status': 'value', '--project': 'value', '--all': 'switch', '--limit': 'value', '--json': 'switch' },
  status: { '--show-history': 'switch', '--show-decisions': 'switch', '--json': 'switch' },
  logs: { '--tail': 'value', '--follow': 'switch', '--level': 'value', '--json': 'switch' },
  'task list': {
    '--project': 'value',
    '--all': 'switch',
    '--feature': 'value',
    '--state': 'value',
    '--ready': 'switch',
    '--label': 'value',
    '--text': 'value',
    '--json': 'switch',
  },
  'config get': { '--reveal': 'switch', '--project': 'value', '--json': 'switch' },
  'trust status': { '--json': 'switch' },
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

type HotName = keyof typeof HOT_FLAGS

/** What each of them acts on, after its name. */
const OPERANDS: Record<HotName, 'none' | 'one' | 'optional'> = {
  list: 'none',
  status: 'one',
  logs: 'one',
  'task list': 'none',
  'config get': 'one',
  'trust status': 'optional',
  start: 'one',
}

export interface HotCall {
  command: HotName
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
    const kind = findFlagKind(name, findHotName(words))
    const value = inline ?? (kind === 'value' ? argv[++index] : undefined)
    if (kind === 'switch' ? value !== undefined : !kind || !value || value.startsWith('-')) return undefined
    // A repeated flag: some add up and others replace; commander knows which.
    if (Object.hasOwn(flags, name)) return undefined
    flags[name] = value ?? true
  }
  const command = findHotName(words)
  if (command === undefined) return undefined
  const [operand, ...more] = words.slice(command.split(' ').length)
  const isComplete = OPERANDS[command] === 'optional' || (operand === undefined) === (OPERANDS[command] === 'none')
  return isComplete && more.length === 0 ? { command, operand: operand ?? '', flags } : undefined
}

/** Before the command's name only the global options are accepted. */
function findFlagKind(name: string, command: HotName | undefined): FlagKinds[string] | undefined {
  const all: FlagKinds = { ...GLOBAL_FLAGS, ...(command && HOT_FLAGS[command]) }
  return Object.hasOwn(all, name) ? all[name] : undefined
}

/** The hot command that the first word names, or the first two. */
function findHotName([first = '', second = '']: string[]): HotName | undefined {
  return [first, `${first} ${second}`].find((name): name is HotName => Object.hasOwn(HOT_FLAGS, name))
}

function splitOnce(arg: string): [string, string | undefined] {
  const at = arg.indexOf('=')
  return at < 0 ? [arg, undefined] : [arg.slice(0, at), arg.slice(at + 1)]
}

/** Runs a hot command and returns the exit code; `undefined`, with nothing done, when commander must explain a value. */
export async function runHotCommand({ command, operand, flags }: HotCall): Promise<number | undefined> {
  const text = (flag: string) => (typeof flags[flag] === 'string' ? flags[flag] : undefined)
  const isSet = (flag: string) => flags[flag] === true
  const context = await contextFrom({
    config: text('--config'),
    dataDir: text('--data-dir'),
    verbose: isSet('--verbose'),
    quiet: isSet('--quiet'),
    json: isSet('--json'),
  })
  const client = quickClient(context.paths, context)
  switch (command) {
    case 'list': {
      const { showList } = await import('./commands/list.ts')
      const [status, project, limit] = [text('--status'), text('--project'), text('--limit')]
      await showList({ status, project, all: isSet('--all'), limit }, context, client)
      break
    }
    case 'status': {
      const { showStatus } = await import('./commands/status.ts')
      const options = { showHistory: isSet('--show-history'), showDecisions: isSet('--show-decisions') }
      await showStatus(operand, options, context, client)
      break
    }
    case 'logs': {
      const { readLogsOptions, showLogs } = await import('./commands/logs.ts')
      const options = readLogsOptions({ tail: text('--tail'), level: text('--level'), follow: isSet('--follow') })
      if (!options) return undefined
      await showLogs(operand, options, context, client)
      break
    }
    case 'task list': {
      const { showTasks } = await import('./commands/task/list.ts')
      const [all, ready] = [isSet('--all'), isSet('--ready') || undefined]
      const [project, feature, state] = [text('--project'), text('--feature'), text('--state')]
      await showTasks(
        { project, all, feature, state, ready, label: text('--label'), text: text('--text') },
        context,
        client,
      )
      break
    }
    case 'config get': {
      const { showSetting } = await import('./commands/config-rows.ts')
      const options = { project: text('--project') ?? '.', reveal: isSet('--reveal') }
      await showSetting(operand, { ...options, dataDir: text('--data-dir') }, context)
      await mentionChanges(context)
      break
    }
    case 'trust status': {
      const { showTrust } = await import('./commands/trust.ts')
      await showTrust(operand || '.', context)
      await mentionChanges(context)
      break
    }
    case 'start': {
      const { readStartOptions, startSession } = await import('./commands/start-session.ts')
      const options = readStartOptions(flags)
      return options && startSession({ path: operand, options, context, client })
    }
  }
  return 0
}

/** Tells the person which of their files were changed outside pcc, because what was shown does not include that. */
async function mentionChanges(context: CommandContext): Promise<void> {
  await (await import('./commands/accept.ts')).mentionChanges(context)
}
