import { type ProgramCall, type ProgramRules, showsFiles } from '../classify/call.ts'
import { globFindsSecret } from '../paths/secret-files.ts'
import { type Arg, deriveArg, findFlag, HOLE, isFlag } from '../shell/args.ts'
import { isSecretVariable } from '../shell/expand.ts'
import { flagTable, type SeenFlag } from '../shell/flag-table.ts'
import { hasPattern, listsFiles, printText } from '../shell/printed.ts'
import { walkUncertain } from '../shell/scope.ts'
import { judgeShellInput, named, stripWrapper, wrapper } from './rule-builders.ts'
import { judgeSecretNames } from './search.ts'

const XARGS = flagTable({
  harmless: `-0oprtx -d: -E: -e? -I: -i? -J: -L: -l? -n: -P: -R: -s: -S: --null --delimiter: --eof? --replace? --max-lines?
    --max-args: --max-procs: --max-chars: --interactive --no-run-if-empty --verbose --exit --open-tty --process-slot-var:
    --show-limits`,
  reads: '-a: --arg-file:',
})

const ENV = wrapper({
  harmless: `-iv0 -u: -P: -a: --ignore-environment --null --unset: --argv0: --block-signal? --default-signal?
    --ignore-signal? --list-signal-handling --debug`,
  asks: '-C: --chdir:',
  assigns: true,
  alone: { risk: 'MEDIUM', code: 'env.print', text: 'shows the environment' },
})

/** Programs and builtins that build a command from text, variables or their input, and run it. */
export const RUNNERS: ProgramRules = {
  hyperfine: call => {
    for (const arg of call.args) if (!isFlag(arg) && !/^\d+$/.test(arg.value)) call.shell(arg)
    const isPlain = call.args.every(
      ({ value }) => !value.startsWith('-') || /^(-[wrmMN]|--(warmup|runs|min-runs|max-runs|shell=none))$/.test(value),
    )
    call.say(isPlain ? 'script.run' : 'bench', 'MEDIUM', 'hyperfine runs commands many times')
  },
  env: envRule,
  printenv: call => {
    const secret = call.args.some(arg => isSecretVariable(arg.value) || !arg.known)
    const hasNames = call.args.length > 0 && call.args.every(arg => /^\w+$/.test(arg.value))
    if (secret) return call.say('env.print', 'HIGH', 'it shows a variable that looks like a secret')
    call.say(hasNames ? 'system.read' : 'env.print', 'MEDIUM', 'it shows the environment')
  },
  compgen: call => {
    const namesOnly = call.args.every(({ known, value }) => known && /^(-[abcdefgjksuv]+|\w+)$/.test(value))
    call.say(namesOnly ? 'system.read' : 'shell.extend', 'MEDIUM', 'compgen lists names')
  },
  'cross-env': wrapper({ assigns: true }),
  'cross-env-shell': wrapper({ assigns: true, joins: true }),
  xargs: call => {
    const { flags, rest } = stripWrapper(call, XARGS, {})
    const text = readFedText(call, flags)
    const isListed = text === undefined && isFedByList(call, rest)
    // To echo words does nothing with them.
    const isEchoed =
      rest.every(arg => arg.known) &&
      /^(echo|printf|basename|dirname)$/.test(rest[0]?.value ?? 'echo') &&
      rest.length < 2
    // With `-I` nothing is taken where its sign does not stand.
    const sign = flags.find(({ name }) => /^(I|replace)$/.test(name))?.value
    const isUntaken = sign?.known === true && sign.value !== '' && !rest.some(({ value }) => value.includes(sign.value))
    const code = text !== undefined || isListed || isEchoed || isUntaken ? 'arg.listed' : 'arg.unknown'
    // Numbers of processes and nothing else: in a sandbox they are the agent's own.
    if (code === 'arg.unknown' && rest[0]?.value === 'kill' && isFedByProcesses(call) && flags.every(isRunIfFed))
      call.hold('proc.listed', 'MEDIUM', 'xargs takes the numbers of processes from its input')
    else call.say(code, 'MEDIUM', 'xargs takes words from its input')
    judgeFed(call)
    if (rest.length === 0) return
    if (/^([ef]?grep|rg|ag|ack)$/.test(rest[0]?.value ?? '') && !isNarrowList(call)) judgeSecretNames(call, rest)
    const commands = fillCommands(rest, flags, text).map(words => (isListed ? words.map(markListed) : words))
    if (!isListed) judgeUnknownFiles(call, rest, commands)
    for (const command of commands) call.run(command)
  },
  parallel: parallelRule,
  // There is a runner of this name for the packages of a repository, too.
  rush: call =>
    /^(build|rebuild|list|check|test|lint|typecheck)$/.test(call.args[0]?.value ?? '') &&
    call.args.every(arg => arg.known)
      ? call.say('script.run', 'MEDIUM', 'rush builds packages of the project')
      : parallelRule(call),
  script: call => {
    const command = findFlag(call.args, ['-c', '--command'], 'cETIOB')
    if (command?.value) call.shell(command.value)
    else judgeShellInput(call)
    const file = call.args.find(
      (arg, index) => !isFlag(arg) && !/^-[a-zA-Z]*c$/.test(call.args[index - 1]?.value ?? ''),
    )
    if (file === undefined || file.value !== '/dev/null')
      call.say('write.flag', 'HIGH', 'script writes what it records to a file', file ?? call.head)
  },
  direnv: call => {
    const [verb, , ...rest] = call.args
    if (call.args.length === 1 && /^(status|version)$/.test(verb?.value ?? '')) return
    call.say('wrapper.env', 'MEDIUM', 'direnv runs a file of the folder')
    if (verb?.value === 'exec') call.run(rest)
  },
  ...named(
    'nix-shell',
    wrapper({
      harmless: '-p -I: -A: -E: --run: --command: --pure --packages --keep:',
      shell: ['run', 'command'],
      besides: { risk: 'MEDIUM', code: 'pkg.foreign', text: 'fetches and runs packages' },
    }),
  ),
  ...named(
    'dotenv dotenvx env-cmd doppler infisical aws-vault chamber teller envchain summon vaulted berglas',
    call => {
      call.say('secret.env', 'MEDIUM', `${call.name} puts secrets into the environment of what it runs`)
      runAfterWord(call, ['run', 'exec'])
    },
  ),
  eval: call => {
    const [first] = call.args
    if (first) call.say('shell.nested', 'MEDIUM', 'eval reads its words as a command', first)
    if (first)
      call.shell({
        ...deriveArg(call.args.map(arg => arg.value).join(' '), first),
        known: call.args.every(arg => arg.known),
      })
  },
  trap: call => {
    const operands = call.args.filter(arg => !isFlag(arg))
    if (operands.length > 1 && operands[0] && operands[0].value !== '-') judgeLater(call, operands[0])
  },
  alias: call => {
    for (const arg of call.args) {
      const equals = arg.value.indexOf('=')
      if (equals < 0) continue
      call.say('shell.alias', 'MEDIUM', `${arg.text} gives a name another meaning`, arg)
      judgeLater(call, deriveArg(arg.value.slice(equals + 1), arg))
      call.say('shell.alias', 'HIGH', 'commands after it may be other programs than they look', arg)
    }
  },
}

/** Judges a text that the shell reads at a time that nobody knows, if ever. */
function judgeLater(call: ProgramCall, text: Arg): undefined {
  walkUncertain(call.scope, () => call.shell(text))
}

function envRule(call: ProgramCall): undefined {
  const split = findFlag(call.args, ['-S', '--split-string'], 'uSCP')
  if (split?.value && /\\|\$\{/.test(split.value.value))
    return call.say('shell.unknown-text', 'HIGH', `${split.arg.text} has escapes of its own`, split.value)
  if (split?.value)
    return call.shell({
      ...split.value,
      value: [
        split.value.value,
        ...call.args.slice(call.args.indexOf(split.value) + 1 || call.args.length).map(arg => arg.value),
      ].join(' '),
    })
  const chdir = findFlag(call.args, ['-C', '--chdir'], 'uSCP')
  if (chdir) call.say('cwd.outside', 'MEDIUM', `${chdir.arg.text} runs it somewhere else`, chdir.arg)
  judgeRemoved(call)
  ENV(call)
}

/** These variables switch off the programs that the settings of an untrusted repository name. */
const GIT_SETTING = /^GIT_CONFIG/

/** `env -u GIT_CONFIG_COUNT git status`: without its variables git runs what the repository says. */
function judgeRemoved(call: ProgramCall): undefined {
  const { args } = call
  for (const [index, arg] of args.entries()) {
    const joined = /^(?:-[a-z0]*u|--unset=)(.+)$/.exec(arg.value)?.[1]
    const isFlagBefore = /^(-[a-z0]*u|--unset)$/.test(args[index - 1]?.value ?? '')
    const name = joined ?? (isFlagBefore ? arg.value : '')
    if (GIT_SETTING.test(name)) call.say('env.hijack', 'HIGH', `${name} decides what git runs`, arg)
  }
  const all = args.find(arg => /^(-|-[a-z0]*i[a-z0]*|--ignore-environment)$/.test(arg.value))
  if (all && args.some(arg => /(^|\/)git$/.test(arg.value)))
    call.say('env.hijack', 'HIGH', 'without its variables git may run what the repository says', all)
}

/** `parallel cmd ::: a b` runs the command before `:::`; if there is none, each word after `:::` is a command. */
function parallelRule(call: ProgramCall): undefined {
  const index = call.args.findIndex(arg => /^:::/.test(arg.value))
  const before = (index < 0 ? call.args : call.args.slice(0, index)).filter(arg => !isFlag(arg))
  call.say('wrapper', 'MEDIUM', 'parallel puts commands together from its input')
  const commands = before.filter(arg => !/^\d+%?$/.test(arg.value))
  if (commands.length > 0 && commands[0]) {
    call.shell({
      ...deriveArg(commands.map(arg => arg.value).join(' '), commands[0]),
      known: commands.every(arg => arg.known),
    })
    if (commands.length > 1) call.run(commands)
  } else if (index >= 0) for (const arg of call.args.slice(index + 1)) call.shell(arg)
  else call.say('shell.unknown-text', 'HIGH', 'it runs every line of its input')
}

function runAfterWord(call: ProgramCall, words: string[]): undefined {
  const dashes = call.args.findIndex(arg => arg.value === '--')
  const index = dashes < 0 ? call.args.findIndex(arg => words.includes(arg.value)) : dashes
  const rest = index < 0 ? call.args.filter(arg => !isFlag(arg)) : call.args.slice(index + 1)
  const inner = rest[0]?.value === '--' ? rest.slice(1) : rest
  if (inner.length > 0) call.run(inner)
}

/** The text that xargs reads, if it is part of the command; `undefined` if it is known only when it runs. */
function readFedText({ feed, scope }: ProgramCall, flags: readonly SeenFlag[]): string | undefined {
  if (flags.some(flag => /^(a|arg-file)$/.test(flag.name))) return undefined
  if (feed.text) return feed.text.known ? `${feed.text.value}\n` : undefined
  const last = feed.upstream?.at(-1)
  const [name, ...words] = last?.words ?? []
  if (name === undefined || last?.among || scope.functions.has(name.value)) return undefined
  if (!words.every(word => word.known && !word.glob)) return undefined
  return printText(
    name.value.replace(/^\/(usr\/)?bin\//, ''),
    words.map(word => word.value),
  )
}

/** Flags with which xargs splits or ends its input in a way that is not followed. */
const ODD_SPLITS = /^(E|e|eof|J|R|S|s|max-chars|process-slot-var)$/
/** More commands than this are not judged one by one. */
const MAX_FED_COMMANDS = 32

/** The commands that xargs runs for a text. If that is not known, one command with a hole in place of its input. */
function fillCommands(rest: readonly Arg[], flags: readonly SeenFlag[], text: string | undefined): Arg[][] {
  const like = rest[0]
  if (like === undefined) return []
  const has = (shape: RegExp) => flags.findLast(flag => shape.test(flag.name))
  const replaces = has(/^(I|i|J|replace)$/)
  const mark = replaces?.value?.value ?? '{}'
  const lines = text === undefined || has(ODD_SPLITS) ? undefined : splitInput(text, flags, replaces !== undefined)
  const fill = (value: string) =>
    rest.map(arg =>
      arg.value.includes(mark)
        ? deriveArg(
            arg.value.replaceAll(mark, () => value),
            arg,
          )
        : arg,
    )
  const words = (values: readonly string[]) => values.map(value => ({ ...deriveArg(value, like), text: value || "''" }))
  const unknown = replaces ? fill(HOLE) : [...rest, { ...like, value: HOLE, known: false }]
  if (lines === undefined) return [unknown]
  if (replaces) return lines.length > MAX_FED_COMMANDS ? [unknown] : lines.map(([value = '']) => fill(value))
  const perLine = has(/^(L|l|max-lines)$/)
  const perCommand = has(/^(n|max-args)$/)
  const size = Number((perLine ?? perCommand)?.value?.value ?? (perLine ? 1 : Number.POSITIVE_INFINITY))
  if (!(size > 0)) return [unknown]
  const units = perLine ? lines : lines.flat().map(word => [word])
  if (units.length === 0) return [[...rest]]
  if (units.length / size > MAX_FED_COMMANDS) return [unknown]
  const commands: Arg[][] = []
  for (let at = 0; at < units.length; at += size) commands.push([...rest, ...words(units.slice(at, at + size).flat())])
  return commands
}

/** Splits a text as xargs does: into lines of words. With `-I` a line is one word. `undefined` if xargs would refuse it. */
function splitInput(text: string, flags: readonly SeenFlag[], whole: boolean): string[][] | undefined {
  const delimiter = flags.findLast(flag => /^(0|null|d|delimiter)$/.test(flag.name))
  if (delimiter) {
    const sign = /^(0|null)$/.test(delimiter.name) ? '\0' : readDelimiter(delimiter.value?.value)
    if (sign === undefined) return undefined
    const values = text.split(sign)
    if (values.at(-1) === '') values.pop()
    return values.map(value => [value])
  }
  const lines: string[][] = []
  let line: string[] = []
  let word: string | undefined
  const endWord = () => {
    if (word !== undefined) line.push(word)
    word = undefined
  }
  const endLine = () => {
    endWord()
    if (line.length > 0) lines.push(line)
    line = []
  }
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] ?? ''
    if (sign === "'" || sign === '"') {
      const end = text.indexOf(sign, at + 1)
      if (end < 0 || text.slice(at, end).includes('\n')) return undefined
      word = (word ?? '') + text.slice(at + 1, end)
      at = end
    } else if (sign === '\\') word = (word ?? '') + (text[++at] ?? '')
    // A line that ends with a blank, even with one that belongs to the word, goes on with the next one.
    else if (sign === '\n') {
      if (word !== undefined && !whole && /[ \t]/.test(text[at - 1] ?? '')) endWord()
      else if (word !== undefined) endLine()
    } else if (/[ \t\v\f\r]/.test(sign) && (!whole || word === undefined)) endWord()
    else word = (word ?? '') + sign
  }
  if (word === '') word = undefined // xargs drops an empty word at the very end
  endLine()
  return lines
}

/** The sign after `-d`: one character, or one of the usual escapes. */
function readDelimiter(value: string | undefined): string | undefined {
  if (value === undefined || value.includes(HOLE)) return undefined
  return value.length === 1 ? value : { '\\n': '\n', '\\t': '\t', '\\0': '\0', '\\r': '\r' }[value]
}

/** Whether the words that xargs gets are names of the project's files, as the programs before it in the pipe list them. */
function isFedByList({ feed, scope }: ProgramCall, rest: readonly Arg[]): boolean {
  const searches = /^([ef]?grep|rg|ag|ack)$/.test(rest[0]?.value ?? '')
  const pipe = (feed.upstream ?? []).map(program => (program.among ? [] : program.words))
  return pipe.length > 0 && listsFiles(pipe, scope, searches)
}

/** Whether a list of files leaves out what is hidden or ignored: by a pattern, or because git keeps the files. */
function isNarrowList({ feed }: ProgramCall): boolean {
  const [name = '', ...words] = feed.upstream?.[0]?.words.map(({ value }) => value) ?? []
  if (name === 'git')
    return !words.some(word => /^(-[a-z]*o|--others)$/.test(word)) || words.includes('--exclude-standard')
  if (/^(rg|fd|fdfind|ls)$/.test(name))
    return !words.some(word => /^(-[a-zA-Z0-9]*[uHIaA.]|--(hidden|unrestricted|no-ignore|all|almost-all))/.test(word))
  return name !== 'find' || hasPattern(words)
}

/** Whether the only program before it in the pipe prints numbers of processes. */
function isFedByProcesses({ feed, scope }: ProgramCall): boolean {
  const [program, ...others] = feed.upstream ?? []
  const [name, ...words] = program?.words ?? []
  if (name === undefined || program?.among || others.length > 0 || scope.functions.has(name.value)) return false
  if (!words.every(word => word.known)) return false
  if (name.value === 'pgrep') return words.every(({ value }) => /^(-[fxn]+|[\w@/-][\w@ ./-]{2,})$/.test(value))
  return (
    name.value === 'lsof' &&
    /^-(t -?i ?|ti ?|i ?)(tcp)?:\d+( -t)?( -sTCP:LISTEN)?$/i.test(words.map(({ value }) => value).join(' ')) &&
    words.some(({ value }) => /^-ti?/.test(value))
  )
}

function isRunIfFed({ name }: SeenFlag): boolean {
  return /^(r|no-run-if-empty|t|n|L|max-args)$/.test(name)
}

function markListed(arg: Arg): Arg {
  return arg.known ? arg : { ...arg, listed: true }
}

/** A program that shows files whose names are known only when it runs. */
function judgeUnknownFiles(call: ProgramCall, rest: readonly Arg[], commands: readonly Arg[][]): undefined {
  const name = rest.find(arg => showsFiles(arg.value))
  if (name === undefined || commands.every(command => command.every(arg => arg.known))) return
  call.say('read.indirect', 'MEDIUM', `${name.text} shows files whose names are known only when it runs`, name)
}

/** The input of xargs may be the name of a secret that an earlier part of the pipe found or wrote. */
function judgeFed(call: ProgramCall): undefined {
  for (const { words } of call.feed.upstream ?? [])
    for (const word of words.slice(1)) {
      call.secret(word)
      if (/[*?[]/.test(word.value) && globFindsSecret(word.value))
        call.say('path.secret', 'HIGH', `${word.text} finds files with secrets`, word)
      if (/^\.?\*?\.?(env|pem|key|ssh|netrc|npmrc|id_\w*|secret\w*|credential\w*)[\\$*]*$/i.test(word.value))
        call.say('path.secret', 'HIGH', `${word.text} finds files with secrets`, word)
    }
}
