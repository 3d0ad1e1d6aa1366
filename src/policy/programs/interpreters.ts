import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { isStandardDevice } from '../classify/judge-file.ts'
import { type Arg, deriveArg, findFlag, findOperands, HOLE, isFlag } from '../shell/args.ts'
import { flagTable, scanFlags } from '../shell/flag-table.ts'
import { interpreter } from './interpreter-rule.ts'
import { judgeFlags, named } from './rule-builders.ts'
import { judgeInline, judgeScriptFile, judgeToolWords } from './run-code.ts'
import { judgeStep } from './step-names.ts'

const AWK_FLAGS = flagTable({
  harmless: `-bcCgMnNOPrSst -F: -v: -f: -e: -L? --field-separator: --assign: --source: --file: --characters-as-bytes --traditional --copyright --gen-pot
    --bignum --non-decimal-data --use-lc-numeric --optimize --no-optimize --posix --re-interval --sandbox --lint? --lint-old --csv -k`,
  asks: '-W: -I --trace',
  writes: '-d? -o? -p? --dump-variables? --pretty-print? --profile?',
  runs: '-D? --debug? -i: --include: -l: --load: -E: --exec:',
})

/** awk: first a program text, then files. Its language can write files and run commands. */
function awk(call: ProgramCall): undefined {
  const seen = scanFlags(call.args, AWK_FLAGS)
  judgeFlags(call, seen)
  const texts: Arg[] = []
  let explicit = false
  for (const { name, value } of seen.flags) {
    if (!/^(f|file|i|include|l|load|E|exec|e|source)$/.test(name)) continue
    explicit = true
    if (value === undefined) continue
    if (/^(e|source)$/.test(name)) texts.push(value)
    else judgeScriptFile(call, value)
  }
  const [first, ...others] = seen.operands
  if (!explicit && first) texts.push(first)
  for (const arg of explicit ? seen.operands : others) call.path(arg, 'read')
  for (const text of texts) judgeText(call, text)
}

function judgeText(call: ProgramCall, program: Arg): undefined {
  if (!program.known)
    return call.say('code.unknown', 'MEDIUM', 'part of the awk program is known only when it runs', program)
  const bare = withoutLiterals(program.value).replaceAll('||', ' ')
  if (/\bsystem\s*\(|\bgetline\b|@\w|\||\bENVIRON\b/.test(bare))
    return call.say('code.alarming', 'HIGH', 'the awk program runs commands or reads elsewhere', program)
  if (/\bprintf?\b[^;}\n]*>/.test(withoutBrackets(bare)))
    call.say('write.program', 'HIGH', 'the awk program writes files', program)
}

/** The program text with each string replaced by `"` and each regular expression by a blank. After a value a slash is a division. */
function withoutLiterals(text: string): string {
  let bare = ''
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] ?? ''
    const isRegex = letter === '/' && /(^|[({},;!~&|\n]|\b(?:in|return))\s*$/.test(bare)
    if (letter === '"' || isRegex) {
      const end = findEnd(text, at, letter)
      const inner = text.slice(at + 1, end)
      // Standard error is not a file.
      if (letter === '"' && isStandardDevice(inner)) bare = bare.replace(/>>?\s*$/, '')
      bare += letter === '"' ? '"' : ' '
      at = end
    } else if (letter === '#') at = text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at) - 1
    else bare += letter
  }
  return bare
}

function findEnd(text: string, start: number, delimiter: string): number {
  let inside = false
  for (let at = start + 1; at < text.length; at++) {
    const letter = text[at]
    if (letter === '\\') at++
    else if (delimiter === '/' && letter === '[') inside = true
    else if (inside && letter === ']') inside = false
    else if (letter === delimiter && !inside) return at
  }
  return text.length
}

/** `print (a > b)` compares, `print a > b` writes. */
function withoutBrackets(text: string): string {
  let depth = 0
  let flat = ''
  for (const letter of text) {
    if (letter === '(') depth++
    else if (letter === ')') depth = Math.max(0, depth - 1)
    else if (depth === 0) flat += letter
  }
  return flat
}

/** deno: verbs like those of other tools, and scripts with permissions that are granted one by one. */
function deno(call: ProgramCall): undefined {
  const [verb, ...rest] = findOperands(call.args)
  if (verb?.value === 'eval') return rest[0] ? judgeInline(call, rest[0]) : undefined
  if (verb && /^(test|lint|fmt|check|info|doc|types|bench|coverage|cache|outdated)$/.test(verb.value)) {
    // Programs of other languages have these rights without asking.
    const isGranted = (value: string) =>
      /^(test|bench)$/.test(verb.value) && /^--allow-(read|env)(=[\w][\w.,/-]*)?$/.test(value)
    const odd = call.args.find(arg => isFlag(arg) && !DENO_FLAGS.test(arg.value) && !isGranted(arg.value))
    if (odd) call.hold('tool.flag', 'MEDIUM', `${odd.text} is not a flag of deno that the policy knows`, odd)
    return judgeForeignWords(call)
  }
  if (verb && /^(run|serve)$/.test(verb.value) && rest[0]) {
    if (call.args.some(arg => /^(-A|--allow-all|--allow-run.*|--allow-ffi.*)$/.test(arg.value)))
      call.say('deno.rights', 'MEDIUM', 'it gets every permission')
    return judgeScriptFile(call, rest[0])
  }
  if (verb?.value === 'task') {
    judgeForeignWords(call)
    return call.say('script.run', 'MEDIUM', 'deno runs a task of the project')
  }
  call.say(
    'code.inline',
    verb && /^(install|upgrade|publish|compile|repl|jupyter|uninstall|deploy)$/.test(verb.value) ? 'HIGH' : 'MEDIUM',
    'deno runs or installs code',
  )
}

/** java: runs a class or an archive, and loads agents into it. */
function java(call: ProgramCall): undefined {
  const agent = call.args.find(arg =>
    /^(-(javaagent|agentlib|agentpath|XX:OnError|XX:OnOutOfMemoryError|XX:Flags|XX:HeapDumpPath|XX:VMOptionsFile|Xlog:.*file=)|@)/.test(
      arg.value,
    ),
  )
  if (agent) call.say('flag.runs', 'HIGH', `${agent.text} loads code into it`, agent)
  const jar = findFlag(call.args, ['-jar'])
  if (jar?.value) judgeScriptFile(call, jar.value)
  else call.say('script.run', 'MEDIUM', 'java runs a class')
  const path = findFlag(call.args, ['-cp', '-classpath', '--class-path'])?.value
  const name = findOperands(call.args, ['-cp', '-classpath', '--class-path'])[0]?.value
  // A class that the same command has compiled from the project.
  const isMade = path?.known && name && call.scope.compiled.has(`${path.value}/${name.replace(/^.*\./, '')}.class`)
  if (isMade) call.hold('script.foreign', 'MEDIUM', `${name} was compiled from the project`, path)
  judgeForeignWords({ ...call, args: call.args.filter(arg => !isMade || arg !== path) })
}

/** Flags with which deno checks, tests and formats without further permissions. */
const DENO_FLAGS =
  /^(-q|-[hV]|--(check|no-check|quiet|fail-fast|filter|parallel|doc|ignore|watch|json|rules|fix|no-lock|frozen|no-remote|cached-only|coverage|shuffle|trace-leaks|permit-no-files|reporter|compact|unstable-.*|ext|line-width|indent-width|single-quote|prose-wrap|no-semicolons|use-tabs|html|lcov|detailed|include|exclude|all|node-modules-dir|version|help)(=.*)?)$/

/** Reports words of a project's tool that point outside of the project: it would run or read something foreign. */
function judgeForeignWords(call: ProgramCall): undefined {
  judgeToolWords(call, call.args)
  for (const arg of call.args)
    if (/^https?:/.test(arg.value)) call.say('net.run', 'HIGH', `${arg.text} is code from the network`, arg)
}

/** Interpreters: programs that run a text in a language of their own. */
export const INTERPRETERS: ProgramRules = {
  ...named(
    'python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 pypy pypy3 py ipython',
    interpreter({ inline: ['-c'], module: '-m', valued: ['-W', '-X', '-Q', '--check-hash-based-pycs'], checks: [] }),
  ),
  ...named('node nodejs', call => {
    const door = call.args.find(({ value }) => /^--inspect/.test(value) && !INSPECTS_HERE.test(value))
    if (door) call.say('net.serve', 'MEDIUM', `${door.text} lets others into the program`, door)
    const profiles = call.args.filter(({ known, value }) => known && PROFILES.test(value))
    if (profiles.length > 0) call.say('write.temp', 'MEDIUM', 'node writes down where its time goes', profiles[0])
    NODE({ ...call, args: call.args.filter(arg => !profiles.includes(arg)) })
  }),
  ...named(
    'ruby jruby irb',
    interpreter({
      inline: ['-e'],
      loads: ['-r', '-I', '-S'],
      valued: ['-C', '-F', '-K', '-E'],
      checks: ['-c', '-wc', '-cw'],
    }),
  ),
  ...named('perl perl5', interpreter({ inline: ['-e', '-E'], loads: ['-M', '-m', '-I', '-d', '-S'] })),
  ...named('php php8', call => {
    const words = call.args.map(({ known, value }) => (known ? value : HOLE)).join(' ')
    if (/^-S (localhost|127\.0\.0\.1):\d+( -t [\w-][\w/-]*)?$/.test(words))
      return call.say('script.run', 'MEDIUM', 'php serves the project on this machine')
    PHP(call)
  }),
  ...named('lua luajit lua5.1 lua5.3 lua5.4 texlua', interpreter({ inline: ['-e'], loads: ['-l'] })),
  Rscript: interpreter({ inline: ['-e'], loads: ['-f', '--file'] }),
  R: call => (call.args[0]?.value === 'CMD' ? judgeRCommand(call) : R(call)),
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
  ...named('swift', interpreter({ inline: ['-e'], verbs: /^(build|test|package|run|repl|package-registry)$/ })),
  ...named(
    'elixir erl escript',
    interpreter({
      inline: ['-e', '--eval', '--rpc-eval', '-eval', '-run', '-s'],
      loads: ['-r', '-pr', '-S', '-pa', '-pz'],
    }),
  ),
  ...named('clojure clj', call => {
    const [alias, ...rest] = call.args
    if (!/^-[MTX]:[\w:/.-]+$/.test(alias?.value ?? '') || rest.some(arg => isFlag(arg) || !arg.known))
      return CLOJURE(call)
    if (alias) judgeStep(call, alias)
    for (const arg of rest) judgeStep(call, arg)
    judgeForeignWords(call)
    call.say('script.run', 'MEDIUM', `${call.name} runs what the project calls ${alias?.text}`, alias)
  }),
  ...named(
    'scala scala-cli groovy jshell kotlin bb',
    interpreter({ inline: ['-e', '--eval', '--execute'], loads: ['-i', '-cp', '-classpath', '-Sdeps'] }),
  ),
  ...named('jsc qjs d8 rhino nashorn jjs', interpreter({ inline: ['-e', '--eval'], loads: ['-l', '-m'] })),
  ...named(
    'tsx ts-node ts-node-esm esno jiti babel-node coffee swc-node vite-node',
    interpreter({
      inline: ['-e', '--eval', '-p', '--print'],
      loads: ['-r', '--require', '--import', '--loader', '-C', '--env-file', '--env-file-if-exists'],
      valued: ['--tsconfig', '-P', '--project'],
    }),
  ),
  ...named(
    'ocaml guile racket sbcl clisp ecl chicken csi gosh scheme newlisp crystal raku rakudo io factor forth gforth sml',
    interpreter({ inline: ['-e', '-c', '--eval', '-x', '-E', 'eval'], loads: ['-l', '-r', '--load', '-I'] }),
  ),
  ...named('nim nimscript', call => {
    judgeToolWords(call, call.args)
    const code = call.args.find(arg => /^--?e(val?)?[:=]/.test(arg.value))
    if (code) return judgeInline(call, deriveArg(code.value.replace(/^[^:=]*[:=]/, ''), code))
    call.say('script.run', 'MEDIUM', 'nim builds or runs a program of the project')
  }),
  deno,
  ...named('awk gawk mawk nawk', awk),
  java,
}

const PHP = interpreter({
  inline: ['-r', '-R', '-B', '-E', '--run'],
  loads: ['-d', '-c', '-z', '--define'],
  valued: ['-t', '-S'],
  checks: ['-l', '--syntax-check', '-i', '-m', '-v'],
})

const CLOJURE = interpreter({ inline: ['-e', '--eval', '--execute'], loads: ['-i', '-cp', '-classpath', '-Sdeps'] })

const R = interpreter({ inline: ['-e'], loads: ['-f', '--file'] })

/** `R CMD check` and the like run scripts and install packages. */
function judgeRCommand(call: ProgramCall): undefined {
  judgeToolWords(call, call.args)
  call.say('pkg.other', 'MEDIUM', 'R CMD runs a tool of R', call.args[1])
}

/** The debugger of node, open to this machine only. */
const INSPECTS_HERE = /^--inspect(-brk|-wait)?(=((127\.0\.0\.1|localhost):)?\d+)?$/

/** Flags with which node measures itself. What it writes is in its own folder, or in a scratch one. */
const PROFILES =
  /^--((cpu|heap)-prof|prof|(cpu|heap)-prof-(interval|name)=[\w.-]+|(cpu-prof|heap-prof|diagnostic|report)-dir=(\/tmp\/[\w-]+|(\.\/)?(tmp|coverage|profiles?|prof)(\/[\w-]+)*)\/?)$/

const NODE = interpreter({
  inline: ['-pe', '-e', '--eval', '-p', '--print'],
  loads: [
    '-r',
    '--require',
    '--import',
    '--loader',
    '--experimental-loader',
    '--env-file',
    '--env-file-if-exists',
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
})
