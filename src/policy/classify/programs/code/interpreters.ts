import type { Call, Rule, Rules } from '../../call.ts'
import { type Arg, isFlag } from '../../words/arg.ts'
import { findFlag, operandsOf } from '../../words/flags.ts'
import { named } from '../common/build.ts'
import { judgeInline } from '../common/inline-code.ts'
import { judgeScriptFile } from '../common/script-file.ts'
import { awk } from './awk.ts'

interface Language {
  /** Flags whose value is program text. */
  inline: string[]
  /** Flags that load further code. */
  loads?: string[]
  /** Flags that take a value. */
  valued?: string[]
  /** `-m name` runs a module. */
  module?: string
  /** Flags with which nothing runs. */
  checks?: string[]
  /** Verbs before the file (`deno run`, `bun run`). */
  verbs?: RegExp
}

/** Programs that run a program text in a language of their own. */
export const INTERPRETERS: Rules = {
  ...named(
    'python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 pypy pypy3 py ipython',
    interpreter({ inline: ['-c'], module: '-m', valued: ['-W', '-X', '-Q', '--check-hash-based-pycs'], checks: [] }),
  ),
  ...named(
    'node nodejs',
    interpreter({
      inline: ['-pe', '-e', '--eval', '-p', '--print'],
      loads: [
        '-r',
        '--require',
        '--import',
        '--loader',
        '--experimental-loader',
        '--env-file',
        '--experimental-config-file',
        '--openssl-config',
        '--snapshot-blob',
        '--build-snapshot',
        '--build-sea',
        '--diagnostic-dir',
        '--redirect-warnings',
        '--report-dir',
        '--cpu-prof-dir',
        '--heap-prof-dir',
        '--trace-event-file-pattern',
        '--icu-data-dir',
        '--inspect',
        '--inspect-brk',
      ],
      valued: [
        '-C',
        '--conditions',
        '--test-name-pattern',
        '--test-reporter',
        '--test-reporter-destination',
        '--max-old-space-size',
        '--input-type',
        '--stack-trace-limit',
        '--watch-path',
      ],
      checks: ['-c', '--check'],
    }),
  ),
  ...named(
    'ruby jruby irb',
    interpreter({
      inline: ['-e'],
      loads: ['-r', '-I', '-S'],
      valued: ['-C', '-F', '-K', '-E'],
      checks: ['-c', '-wc', '-cw'],
    }),
  ),
  ...named(
    'perl perl5',
    interpreter({ inline: ['-e', '-E'], loads: ['-M', '-m', '-I', '-d', '-S'], checks: ['-c', '-wc', '-cw'] }),
  ),
  ...named(
    'php php8',
    interpreter({
      inline: ['-r', '-R', '-B', '-E', '--run'],
      loads: ['-d', '-c', '-z', '--define'],
      valued: ['-t', '-S'],
      checks: ['-l', '--syntax-check', '-i', '-m', '-v'],
    }),
  ),
  ...named('lua luajit lua5.1 lua5.3 lua5.4 texlua', interpreter({ inline: ['-e'], loads: ['-l'] })),
  ...named('Rscript R', interpreter({ inline: ['-e'], loads: ['-f', '--file'] })),
  ...named(
    'julia',
    interpreter({
      inline: ['-e', '-E', '--eval', '--print'],
      loads: ['-L', '--load', '-J', '--sysimage'],
      valued: ['-p', '-t'],
    }),
  ),
  ...named(
    'ghc runghc runhaskell ghci',
    interpreter({ inline: ['-e'], loads: ['-pgmF', '-F', '-fplugin', '-package-db'] }),
  ),
  ...named('swift', interpreter({ inline: ['-e'], verbs: /^(build|test|package|run|repl)$/ })),
  ...named(
    'elixir iex erl escript',
    interpreter({
      inline: ['-e', '--eval', '--rpc-eval', '-eval', '-run', '-s'],
      loads: ['-r', '-pr', '-S', '-pa', '-pz'],
    }),
  ),
  ...named(
    'scala scala-cli groovy jshell kotlin clojure clj bb',
    interpreter({ inline: ['-e', '-M', '--execute'], loads: ['-i', '-cp', '-classpath', '-Sdeps'] }),
  ),
  ...named('osascript jsc qjs d8 rhino nashorn jjs', interpreter({ inline: ['-e', '--eval'], loads: ['-l', '-m'] })),
  ...named(
    'tsx ts-node ts-node-esm esno jiti babel-node coffee swc-node vite-node',
    interpreter({
      inline: ['-e', '--eval', '-p', '--print'],
      loads: ['-r', '--require', '--import', '--loader', '-C'],
      valued: ['--tsconfig', '-P', '--project'],
    }),
  ),
  ...named(
    'ocaml guile racket sbcl clisp ecl chicken csi gosh scheme newlisp nim nimscript crystal raku rakudo io factor forth gforth sml',
    interpreter({ inline: ['-e', '-c', '--eval', '-x', '-E', 'eval'], loads: ['-l', '-r', '--load', '-I'] }),
  ),
  deno: call => {
    const [verb, ...rest] = operandsOf(call.args)
    if (verb?.value === 'eval') return rest[0] ? judgeInline(call, rest[0]) : undefined
    if (verb && /^(test|lint|fmt|check|info|doc|types|bench|coverage|cache|outdated)$/.test(verb.value))
      return foreignWords(call)
    if (verb && /^(run|serve)$/.test(verb.value) && rest[0]) {
      if (call.args.some(arg => /^(-A|--allow-all|--allow-run.*|--allow-ffi.*)$/.test(arg.value)))
        call.say('deno.rights', 'MEDIUM', 'it gets every right')
      return judgeScriptFile(call, rest[0])
    }
    if (verb?.value === 'task') return call.say('script.run', 'MEDIUM', 'deno runs a task of the project')
    call.say(
      'code.inline',
      verb && /^(install|upgrade|publish|compile|repl|jupyter|uninstall|deploy)$/.test(verb.value) ? 'HIGH' : 'MEDIUM',
      'deno runs or installs code',
    )
  },
  ...named('awk gawk mawk nawk', awk),
  java: call => {
    const agent = call.args.find(arg =>
      /^-(javaagent|agentlib|agentpath|XX:OnError|XX:OnOutOfMemoryError)/.test(arg.value),
    )
    if (agent) call.say('flag.runs', 'HIGH', `${agent.text} loads code into it`, agent)
    const jar = findFlag(call.args, ['-jar'])
    if (jar?.value) judgeScriptFile(call, jar.value)
    else call.say('script.run', 'MEDIUM', 'java runs a class')
    foreignWords(call)
  },
}

/** Words of a tool of the project that point outside it: then it runs or reads what nobody agreed to. */
function foreignWords(call: Call): undefined {
  for (const arg of call.args) {
    if (/^https?:/.test(arg.value)) call.say('net.run', 'HIGH', `${arg.text} is code from the network`, arg)
    call.secret(arg)
  }
}

function interpreter(language: Language): Rule {
  return call => {
    const { args, feed } = call
    const shorts = [...language.inline, ...(language.loads ?? []), ...(language.valued ?? [])]
      .filter(flag => flag.length === 2)
      .map(flag => flag[1])
      .join('')
    const loads = language.loads && findFlag(args, language.loads, shorts)
    if (loads) judgeLoad(call, loads.arg, loads.value)
    const code = findFlag(args, language.inline, shorts)
    if (code) judgeFiles(call, code.value, language)
    if (code)
      return code.value
        ? judgeInline(call, code.value)
        : call.say('code.unknown', 'HIGH', 'the program text is missing')
    if (language.module) {
      const module = findFlag(args, [language.module], 'cmWX')
      if (module) return judgeModule(call, module.value)
    }
    if (
      args.some(arg => /^-[a-zA-Z]*i/.test(arg.value) && !arg.value.startsWith('--')) &&
      /^(perl|ruby)/.test(call.name)
    )
      call.say('write.in-place', 'MEDIUM', `${call.name} -i changes files`)
    const operands = operandsOf(args, [...language.inline, ...(language.loads ?? []), ...(language.valued ?? [])])
    const [file] = operands
    if (language.checks?.some(flag => args.some(arg => arg.value === flag)))
      return file ? call.path(file, 'read') : undefined
    if (args.some(arg => arg.value === '--test'))
      return call.say('script.run', 'MEDIUM', 'it runs the tests of the project')
    if (file && language.verbs?.test(file.value))
      return call.say('script.run', 'MEDIUM', 'it builds or runs the project')
    if (file && file.value !== '-' && !/^\/dev\/(stdin|fd\/0)$/.test(file.value)) {
      for (const arg of args) if (arg !== file) call.secret(arg)
      if (file.substituted) return call.say('pipe.interpreter', 'HIGH', `${call.name} runs what a command prints`, file)
      const base = file.value.slice(file.value.lastIndexOf('/') + 1)
      if (FRAMEWORK.test(base)) call.run([{ ...file, value: base }, ...args.slice(args.indexOf(file) + 1)])
      return judgeScriptFile(call, file)
    }
    if (feed.text) return judgeInline(call, feed.text)
    if (feed.file) return judgeScriptFile(call, feed.file)
    if (feed.piped) return call.say('pipe.interpreter', 'HIGH', `bytes of another program reach ${call.name}`)
    call.say('code.interactive', 'MEDIUM', `${call.name} without a script waits for input`)
  }
}

/** Scripts that every project of a framework has, with verbs that are known. */
const FRAMEWORK = /^(manage\.py|artisan|rails|rake)$/

/** `perl -pe … file` reads files, with `-i` it changes them. */
function judgeFiles(call: Call, code: Arg | undefined, language: Language): undefined {
  if (!/^(perl|ruby)/.test(call.name)) return
  const inPlace = call.args.find(arg => /^-[a-zA-Z0]*i/.test(arg.value) && !arg.value.startsWith('-I'))
  if (inPlace) call.say('write.in-place', 'MEDIUM', `${inPlace.text} changes files`, inPlace)
  const files = operandsOf(call.args, [...language.inline, ...(language.loads ?? [])]).filter(arg => arg !== code)
  for (const arg of files) call.path(arg, inPlace ? 'write' : 'read')
}

function judgeLoad(call: Call, flag: Arg, value: Arg | undefined): undefined {
  const inside = value?.known && /^[@\w][\w@/.-]*$/.test(value.value) && !value.value.includes('..')
  call.say('flag.loads', inside ? 'MEDIUM' : 'HIGH', `${flag.text} loads further code`, flag)
  if (value) call.secret(value)
}

/** `python -m`: modules that test, check or print are everyday. */
const EVERYDAY_MODULES =
  /^(pytest|unittest|py_compile|compileall|json\.tool|doctest|mypy|black|ruff|flake8|isort|pylint|pyflakes|pycodestyle|coverage|timeit|this|platform|site|sysconfig|tabnanny|ast|dis|tokenize|calendar|build|nox|tox|sphinx|mkdocs|pip_audit|bandit|pre_commit)$/

function judgeModule(call: Call, module: Arg | undefined): undefined {
  if (!module?.known) return call.say('code.unknown', 'HIGH', 'the module is known only when it runs')
  const place = call.args.indexOf(module)
  const rest = place < 0 ? [] : call.args.slice(place + 1)
  if (
    /^(pip|pip3|pytest|mypy|black|ruff|flake8|isort|pylint|coverage|tox|nox|venv|virtualenv|http\.server|poetry|pipenv|uv|twine|build|pre_commit)$/.test(
      module.value,
    )
  )
    return call.run([
      { ...module, value: module.value === 'http.server' ? 'http-server' : module.value, text: module.text },
      ...rest,
    ])
  for (const arg of rest) call.path(isFlag(arg) ? { ...arg, value: '-' } : arg, 'read')
  if (EVERYDAY_MODULES.test(module.value)) return
  call.say('code.module', 'MEDIUM', `the module ${module.text} runs`, module)
}
