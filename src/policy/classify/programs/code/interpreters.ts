import type { Call, Rules } from '../../call.ts'
import { named } from '../common/build.ts'
import { judgeToolWords } from '../common/tool-words.ts'
import { awk } from './awk.ts'
import { deno, java } from './deno-java.ts'
import { interpreter } from './interpreter.ts'

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
  ...named('perl perl5', interpreter({ inline: ['-e', '-E'], loads: ['-M', '-m', '-I', '-d', '-S'] })),
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
  Rscript: interpreter({ inline: ['-e'], loads: ['-f', '--file'] }),
  R: call => (call.args[0]?.value === 'CMD' ? rCommand(call) : R(call)),
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
  deno,
  ...named('awk gawk mawk nawk', awk),
  java,
}

const R = interpreter({ inline: ['-e'], loads: ['-f', '--file'] })

/** `R CMD check` and the like run scripts and install packages. */
function rCommand(call: Call): undefined {
  judgeToolWords(call, call.args)
  call.say('pkg.other', 'MEDIUM', 'R CMD runs a tool of R', call.args[1])
}
