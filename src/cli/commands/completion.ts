import { Argument, Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import { SETTING_KEYS } from '../../domain/config/settings.ts'
import { type CommandRow, commandContext } from '../context.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

/** What a completion script needs to know about one command. */
interface CompletedCommand {
  path: string
  flags: string[]
  words: string[]
  summary: string
  takesSession: boolean
  takesTask: boolean
}

/** `pcc completion bash|zsh|fish`: prints a completion script made from the table of commands. */
export function addCompletionCommand(program: Command, rows: CommandRow[]): void {
  program
    .command('completion')
    .description('Print a completion script. For bash: source <(pcc completion bash)')
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
      out(SCRIPTS[shell](listCommands(full)))
    })
}

const SCRIPTS: Record<Shell, (commands: CompletedCommand[]) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

function listCommands(program: Command): CompletedCommand[] {
  const globals = program.options.flatMap(option => option.long ?? [])
  const walk = (command: Command, path: string): CompletedCommand[] => [
    {
      path,
      flags: [...command.options.flatMap(option => option.long ?? []), ...globals, '--help'].filter(isFirst),
      words: [
        ...command.commands.map(child => child.name()),
        ...command.registeredArguments.flatMap(argument =>
          argument.name() === 'key' ? SETTING_KEYS : (argument.argChoices ?? []),
        ),
      ],
      summary: command.summary() || command.description(),
      takesSession: command.registeredArguments.some(argument => argument.name() === 'session'),
      takesTask:
        command.registeredArguments.some(argument => ['task', 'before'].includes(argument.name())) &&
        /^task\b/.test(path),
    },
    ...command.commands.flatMap(child => walk(child, path ? `${path} ${child.name()}` : child.name())),
  ]
  return walk(program, '')
}

function isFirst(flag: string, index: number, flags: string[]): boolean {
  return flags.indexOf(flag) === index
}

/** Ids and names come from the daemon, but only if it already runs: a completion must not start one. */
const ID_FUNCTIONS = `_pcc_sessions() {
  pcc daemon status >/dev/null 2>&1 || return
  pcc list --json 2>/dev/null | sed -n -e 's/^      "id": "\\(.*\\)",$/\\1/p' -e 's/^      "name": "\\(.*\\)",$/\\1/p'
}
_pcc_tasks() {
  pcc daemon status >/dev/null 2>&1 || return
  pcc task list --json 2>/dev/null | sed -n 's/^{"id":"\\([^"]*\\)".*/\\1/p'
}`

function bashScript(commands: CompletedCommand[]): string {
  const cases = commands.map(
    ({ path, flags, words, takesSession, takesTask }) =>
      `    '${path}') words='${[...words, ...flags].join(' ')}'${takesSession ? '; [[ $cur == -* ]] || words=$(_pcc_sessions)' : ''}${takesTask ? '; [[ $cur == -* ]] || words=$(_pcc_tasks)' : ''} ;;`,
  )
  return `# bash completion for pcc
${ID_FUNCTIONS}
_pcc() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case " ${commands
      .map(({ path }) => path.replaceAll(' ', '/'))
      .filter(Boolean)
      .join(' ')} " in
      *" \${path:+$path/}$word "*) path="\${path:+$path/}$word" ;;
    esac
  done
  case "\${path//\\// }" in
${cases.join('\n')}
  esac
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
  const lines = commands.flatMap(({ path, flags, words, takesSession, takesTask }) => {
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
      ...flags.map(flag => `complete -c pcc -n '${condition}' -l ${flag.slice(2)}`),
      ...(takesSession ? [`complete -c pcc -f -n '${condition}' -a '(_pcc_sessions)'`] : []),
      ...(takesTask ? [`complete -c pcc -f -n '${condition}' -a '(_pcc_tasks)'`] : []),
    ]
  })
  return `# fish completion for pcc
function _pcc_sessions; pcc daemon status >/dev/null 2>&1; and pcc list --json 2>/dev/null | string match -r '^      "(?:id|name)": "(.*)",$' -g; end
function _pcc_tasks; pcc daemon status >/dev/null 2>&1; and pcc task list --json 2>/dev/null | string match -r '^\\{"id":"([^"]*)"' -g; end
${lines.join('\n')}
`
}

function descriptionFlag(summary: string | undefined): string {
  return summary ? ` -d '${summary.replaceAll("'", '’')}'` : ''
}
