import { Argument, Command, type Option } from 'commander'
import { AppError } from '../../base/errors.ts'
import { SETTING_KEYS } from '../../domain/config/settings.ts'
import { STATE_WORDS } from '../../domain/task-requests.ts'
import { type CommandRow, commandContext } from '../context.ts'
import { STATUS_WORDS } from '../render/format.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

const SESSION_STATUSES = ['running', ...Object.keys(STATUS_WORDS)]

/** What is asked of the daemon, if one runs: ids, names and numbers. */
type Asked = 'sessions' | 'runs' | 'tasks' | 'features' | 'numbers'

/** What may be typed in one place. */
interface Completed {
  words: readonly string[]
  asked: readonly Asked[]
}

/** What a completion script needs to know about one command. */
interface CompletedCommand extends Completed {
  path: string
  flags: string[]
  /** The flags that take a value, and the values that are known. */
  values: Record<string, Completed>
  summary: string
}

/** `pcc completion bash|zsh|fish`: prints a completion script made from the table of commands. */
export function addCompletionCommand(program: Command, rows: CommandRow[]): void {
  program
    .command('completion')
    .description('Print a completion script for your shell')
    .addArgument(new Argument('[shell]', 'bash, zsh or fish').choices(SHELLS))
    .action(async (shell: Shell | undefined, _options: unknown, command: Command) => {
      const { out } = await commandContext(command)
      if (!shell) throw new AppError('usage', { problem: 'which shell? bash, zsh or fish', command: 'completion' })
      const full = new Command('pcc')
      for (const option of program.options) full.addOption(option)
      for (const row of rows) {
        await row.add(full)
        full.commands.at(-1)?.summary(row.summary)
      }
      out(SCRIPTS[shell](listCommands(full, rows)))
    })
}

const SCRIPTS: Record<Shell, (commands: CompletedCommand[]) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

function listCommands(program: Command, rows: CommandRow[]): CompletedCommand[] {
  const globals = program.options.flatMap(option => option.long ?? [])
  const underNoun = (path: string) => rows.filter(({ noun }) => noun === path)
  const walk = (command: Command, path: string): CompletedCommand[] => {
    const own = command.registeredArguments.map(argument => ({
      words: argument.name() === 'key' ? SETTING_KEYS : (argument.argChoices ?? []),
      asked: askedFor(argument.name(), path),
    }))
    return [
      {
        path,
        flags: [...command.options.flatMap(option => option.long ?? []), ...globals, '--help'].filter(isFirst),
        words: [
          ...command.commands.map(child => child.name()),
          ...underNoun(path).map(({ name, nameThere }) => nameThere ?? name),
          ...own.flatMap(({ words }) => words),
        ],
        asked: [...new Set(own.flatMap(({ asked }) => asked))],
        values: Object.fromEntries(
          command.options.flatMap(option =>
            option.required && option.long ? [[option.long, flagValues(option, path)]] : [],
          ),
        ),
        summary: command.summary() || command.description(),
      },
      ...command.commands.flatMap(child => walk(child, path ? `${path} ${child.name()}` : child.name())),
      ...underNoun(path).flatMap(({ name, noun, nameThere }) => {
        const member = program.commands.find(each => each.name() === name)
        return member ? walk(member, `${noun} ${nameThere ?? name}`) : []
      }),
    ]
  }
  return walk(program, '')
}

/** What an argument of this name stands for. */
function askedFor(name: string, path: string): Asked[] {
  if (name === 'session') return ['sessions', 'runs']
  if (name === 'task' || name === 'before' || name === 'merge')
    return /\badd$/.test(path) && !/deps/.test(path) ? [] : ['tasks']
  if (name === 'target') return path === 'run' ? ['features', 'tasks'] : ['tasks']
  if (name === 'number') return path === 'respond' ? ['numbers'] : []
  return name === 'name' && path.startsWith('feature') ? ['features'] : []
}

function flagValues({ long, argChoices }: Option, path: string): Completed {
  const asked: Record<string, Asked[]> = {
    '--session': ['sessions'],
    '--run': ['runs'],
    '--task': path === 'start' ? [] : ['tasks'],
    '--after': ['tasks'],
    '--parent': ['tasks'],
    '--feature': ['features'],
  }
  const words = argChoices ?? (long === '--status' ? SESSION_STATUSES : long === '--state' ? STATE_WORDS : [])
  return { words, asked: asked[long ?? ''] ?? [] }
}

function isFirst(flag: string, index: number, flags: string[]): boolean {
  return flags.indexOf(flag) === index
}

/** How each kind is read from what a command prints. */
const READ: Record<Asked, string> = {
  sessions: `pcc list --json 2>/dev/null | sed -n -e 's/^      "id": "\\(.*\\)",$/\\1/p' -e 's/^      "name": "\\(.*\\)",$/\\1/p'`,
  runs: `pcc runs --json 2>/dev/null | sed -n 's/^      "id": "\\(r-.*\\)",$/\\1/p'`,
  tasks: `pcc task list --json 2>/dev/null | sed -n 's/^{"id":"\\([^"]*\\)".*/\\1/p'`,
  features: `pcc feature list --json 2>/dev/null | sed -n 's/^      "name": "\\(.*\\)",$/\\1/p'`,
  numbers: `pcc pending --json 2>/dev/null | sed -n 's/^      "number": \\([0-9]*\\),*$/\\1/p' | sort -un`,
}

/** Only a daemon that already runs is asked: a completion must not start one. */
const BASH_ASK = `_pcc_ask() {
  local kind
  pcc daemon status >/dev/null 2>&1 || return
  for kind in "$@"; do
    case $kind in
${Object.entries(READ)
  .map(([kind, read]) => `      ${kind}) ${read} ;;`)
  .join('\n')}
    esac
  done
}`

function bashWords({ words, asked }: Completed): string {
  const more = asked.length > 0 ? `; asked='${asked.join(' ')}'` : ''
  return `words='${words.join(' ')}'${more}`
}

function bashScript(commands: CompletedCommand[]): string {
  const cases = commands.map(
    ({ path, flags, words, asked }) => `    '${path}') ${bashWords({ words: [...words, ...flags], asked })} ;;`,
  )
  const values = commands.flatMap(({ path, values }) =>
    Object.entries(values).map(([flag, completed]) => `    '${path} ${flag}') ${bashWords(completed)}; return ;;`),
  )
  return `# bash completion for pcc
${BASH_ASK}
_pcc_words() {
  case "$1 $2" in
${values.join('\n')}
  esac
  case "$1" in
${cases.join('\n')}
  esac
}
_pcc() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path='' word words='' asked=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case " ${commands
      .map(({ path }) => path.replaceAll(' ', '/'))
      .filter(Boolean)
      .join(' ')} " in
      *" \${path:+$path/}$word "*) path="\${path:+$path/}$word" ;;
    esac
  done
  _pcc_words "\${path//\\// }" "\${COMP_WORDS[COMP_CWORD-1]}"
  if [[ -n $asked && $cur != -* ]]; then
    words="$words
$(_pcc_ask $asked)"
    words=$(printf '%s' "$words" | tr ' ' '\\n' | grep -v '^--')
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  [[ \${#COMPREPLY[@]} -gt 0 ]] || compopt -o default
}
complete -F _pcc pcc
`
}

function zshScript(commands: CompletedCommand[]): string {
  return `#compdef pcc
# zsh completion for pcc, by way of the one for bash
autoload -U +X bashcompinit && bashcompinit
${bashScript(commands)}`
}

function fishScript(commands: CompletedCommand[]): string {
  const everywhere = commands[0]?.flags ?? []
  const lines = commands.flatMap(({ path, flags, words, asked, values }) => {
    const seen = path
      .split(' ')
      .filter(Boolean)
      .map(word => `__fish_seen_subcommand_from ${word}`)
    const condition = seen.length ? seen.join('; and ') : '__fish_use_subcommand'
    const findChild = (word: string) => commands.find(other => other.path === (path ? `${path} ${word}` : word))
    return [
      ...words.map(
        word => `complete -c pcc -f -n '${condition}' -a '${word}'${descriptionFlag(findChild(word)?.summary)}`,
      ),
      ...flags
        .filter(flag => path === '' || !everywhere.includes(flag))
        .map(flag => `complete -c pcc${path && ` -n '${condition}'`} -l ${flag.slice(2)}${fishValues(values[flag])}`),
      ...(asked.length > 0 ? [`complete -c pcc -f -n '${condition}' -a '(_pcc_ask ${asked.join(' ')})'`] : []),
    ]
  })
  return `# fish completion for pcc
function _pcc_ask
  pcc daemon status >/dev/null 2>&1; or return
  for kind in $argv
    switch $kind
${Object.entries(READ)
  .map(([kind, read]) => `      case ${kind}\n        ${read}`)
  .join('\n')}
    end
  end
end
${lines.join('\n')}
`
}

/** A flag that takes a value: the known ones, or else a file. */
function fishValues(completed: Completed | undefined): string {
  if (!completed) return ''
  const { words, asked } = completed
  if (words.length + asked.length === 0) return ' -r'
  return ` -x -a '${[...words, ...(asked.length > 0 ? [`(_pcc_ask ${asked.join(' ')})`] : [])].join(' ')}'`
}

function descriptionFlag(summary: string | undefined): string {
  return summary ? ` -d '${summary.replaceAll("'", '’')}'` : ''
}
