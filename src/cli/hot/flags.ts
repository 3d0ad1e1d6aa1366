type Kinds = Record<string, 'value' | 'switch'>

/** The few commands that must start in milliseconds, and every flag they know. */
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
} as const satisfies Record<string, Kinds>

/** Options of every command; they stand before or after its name. */
const GLOBAL_FLAGS: Kinds = {
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

/** Reads the arguments of a hot command. Whatever is not plainly right is left to commander, which explains it. */
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
    const kind = kindOf(name, words[0])
    const value = inline ?? (kind === 'value' ? argv[++index] : undefined)
    if (kind === 'switch' ? value !== undefined : !kind || !value || value.startsWith('-')) return undefined
    // Said twice: some add up and some replace, which commander knows.
    if (Object.hasOwn(flags, name)) return undefined
    flags[name] = value ?? true
  }
  const [command, operand = ''] = words
  if (!isHot(command) || words.length !== OPERANDS[command] + 1) return undefined
  if (command === 'task' && operand !== 'list') return undefined
  return { command, operand, flags }
}

/** Before the command's name only the options of every command are known. */
function kindOf(name: string, command: string | undefined): Kinds[string] | undefined {
  const own: Kinds = isHot(command) ? HOT_FLAGS[command] : {}
  const all: Kinds = { ...GLOBAL_FLAGS, ...own }
  return Object.hasOwn(all, name) ? all[name] : undefined
}

function isHot(word: string | undefined): word is keyof typeof HOT_FLAGS {
  return word !== undefined && Object.hasOwn(HOT_FLAGS, word)
}

function splitOnce(arg: string): [string, string | undefined] {
  const at = arg.indexOf('=')
  return at < 0 ? [arg, undefined] : [arg.slice(0, at), arg.slice(at + 1)]
}
