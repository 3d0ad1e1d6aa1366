import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { globFindsSecret } from '../paths/secret-files.ts'
import { type Arg, deriveArg, findFlag, HOLE, isFlag } from '../shell/args.ts'
import { isSecretVariable } from '../shell/expand.ts'
import { flagTable } from '../shell/flag-table.ts'
import { named, stripWrapper, wrapper } from './rule-builders.ts'

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
    call.say('bench', 'MEDIUM', 'hyperfine runs commands many times')
  },
  env: envRule,
  printenv: call => {
    const secret = call.args.some(arg => isSecretVariable(arg.value) || !arg.known)
    const hasNames = call.args.length > 0 && call.args.every(arg => /^\w+$/.test(arg.value))
    if (secret) return call.say('env.print', 'HIGH', 'it shows a variable that looks like a secret')
    call.say(hasNames ? 'system.read' : 'env.print', 'MEDIUM', 'it shows the environment')
  },
  'cross-env': wrapper({ assigns: true }),
  'cross-env-shell': wrapper({ assigns: true, joins: true }),
  xargs: call => {
    call.say('arg.unknown', 'MEDIUM', 'xargs takes words from its input')
    const { flags, rest } = stripWrapper(call, XARGS, {})
    const replaces = flags.find(flag => /^(I|i|J|replace)$/.test(flag.name))
    const mark = replaces?.value?.value ?? '{}'
    const filled = rest.map(arg => (arg.value.includes(mark) ? deriveArg(arg.value.replaceAll(mark, HOLE), arg) : arg))
    const [first] = filled
    judgeFed(call)
    if (first) call.run(replaces ? filled : [...filled, ...findFedWords(call, first)])
  },
  parallel: parallelRule,
  rush: parallelRule,
  script: call => {
    const command = findFlag(call.args, ['-c', '--command'], 'cETIOB')
    if (command?.value) call.shell(command.value)
    const file = call.args.find(
      (arg, index) => !isFlag(arg) && !/^-[a-zA-Z]*c$/.test(call.args[index - 1]?.value ?? ''),
    )
    if (file === undefined || file.value !== '/dev/null')
      call.say('write.flag', 'HIGH', 'script writes what it records to a file', file ?? call.head)
  },
  direnv: call => {
    const [verb, , ...rest] = call.args
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
    if (operands.length > 1 && operands[0] && operands[0].value !== '-') call.shell(operands[0])
  },
  alias: call => {
    for (const arg of call.args) {
      const equals = arg.value.indexOf('=')
      if (equals < 0) continue
      call.say('shell.alias', 'MEDIUM', `${arg.text} gives a name another meaning`, arg)
      call.shell(deriveArg(arg.value.slice(equals + 1), arg))
      call.say('shell.alias', 'HIGH', 'commands after it may be other programs than they look', arg)
    }
  },
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
  ENV(call)
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

/** The words that xargs appends to its command: those of an `echo` before it in the pipe, or unknown ones. */
function findFedWords(call: ProgramCall, like: Arg): Arg[] {
  const last = call.feed.upstream?.at(-1)?.words
  const [name, ...words] = last ?? []
  if (name && /^(echo|printf)$/.test(name.value) && words.every(word => word.known))
    return words.flatMap(word => word.value.split(/\s+/).map(value => ({ ...word, value })))
  return [{ ...like, value: HOLE, known: false }]
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
