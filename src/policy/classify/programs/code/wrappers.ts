import type { Call, Rules } from '../../call.ts'
import { HOLE, isFlag, made } from '../../words/arg.ts'
import { flagTable } from '../../words/flag-table.ts'
import { findFlag } from '../../words/flags.ts'
import { named } from '../common/build.ts'
import { peel, type WrapperRow, wrapper } from '../common/wrapper.ts'

const plain = wrapper()

const XARGS = flagTable({
  harmless: `-0oprtx -a: -d: -E: -e? -I: -i? -J: -L: -l? -n: -P: -R: -s: -S: --null --delimiter: --eof? --replace? --max-lines?
    --max-args: --max-procs: --max-chars: --interactive --no-run-if-empty --verbose --exit --open-tty --process-slot-var:
    --show-limits --arg-file:`,
})

const ENV: WrapperRow = {
  harmless: `-iv0 -u: -P: -a: --ignore-environment --null --unset: --argv0: --block-signal? --default-signal?
    --ignore-signal? --list-signal-handling --debug`,
  asks: '-C: --chdir:',
  assigns: true,
  alone: { risk: 'MEDIUM', code: 'env.print', text: 'shows the environment' },
}
const ENV_RULE = wrapper(ENV)

const OTHER_PROCESS = 'changes a process that runs already'

/** Programs that run other programs: they are peeled, and what they run is judged. */
export const WRAPPERS: Rules = {
  ...named('nohup eatmydata catchsegv pty linux32 linux64', plain),
  setsid: wrapper({ harmless: '-cfw --ctty --fork --wait' }),
  unbuffer: wrapper({ harmless: '-p' }),
  caffeinate: wrapper({ harmless: '-disum -t: -w:' }),
  ...named('ccache sccache', plain),
  ...named(
    'torsocks torify tsocks proxychains proxychains4 distcc',
    wrapper({ besides: { risk: 'MEDIUM', code: 'net.get', text: 'takes it over the network' } }),
  ),
  fakeroot: wrapper({ harmless: '-hvu --unknown-is-real', runs: '-l: --lib: -f: --faked: -i: -s: -b:' }),
  ...named(
    'dbus-run-session dbus-launch',
    wrapper({ harmless: '--exit-with-session --sh-syntax', runs: '--config-file: --dbus-daemon: --exit-with-x11' }),
  ),
  rlwrap: wrapper({ harmless: '-acnrRsv', runs: '-f: -z: -H: -l: -P:' }),
  ...named(
    'with-contenv cgexec',
    wrapper({ harmless: '-g:', besides: { risk: 'MEDIUM', code: 'wrapper', text: 'runs it in other surroundings' } }),
  ),
  setarch: wrapper({ harmless: '-BFILRSTXZv3 --verbose --addr-no-randomize --show? --3gb --32bit --uname-2.6' }),
  ...named('busybox toybox', wrapper({ harmless: '--list --list-full', writes: '--install' })),
  coreutils: call => {
    const program = call.args.find(arg => arg.value.startsWith('--coreutils-prog'))
    if (program === undefined) return plain(call)
    const value = program.value.replace(/^--coreutils-prog(-shebang)?=/, '')
    call.run([made(value, program), ...call.args.slice(call.args.indexOf(program) + 1)])
  },
  ...named(
    'time gtime',
    wrapper({
      harmless: '-apqvlh -f: --append --format: --portability --quiet --verbose',
      writes: '-o: --output:',
    }),
  ),
  nice: wrapper({ harmless: '-# -n: --adjustment:' }),
  ionice: wrapper({
    harmless: '-t -c: -n: --class: --classdata: --ignore',
    runs: '-p: -P: -u: --pid: --pgid: --uid:',
  }),
  ...named(
    'timeout gtimeout',
    wrapper({
      harmless: '-fpv -k: -s: --kill-after: --signal: --foreground --preserve-status --verbose',
      skip: 1,
    }),
  ),
  ...named('stdbuf gstdbuf', wrapper({ harmless: '-i: -o: -e: --input: --output: --error:' })),
  ...named('chrt taskset', call => {
    const other = call.args.find(arg => /^(-[a-z]*p|--pid)/.test(arg.value))
    if (other) call.say('proc.kill', 'HIGH', `${other.text} ${OTHER_PROCESS}`, other)
    SCHEDULED(call)
  }),
  prlimit: wrapper({
    harmless:
      '-# -c? -d? -e? -f? -i? -l? -m? -n? -q? -r? -s? -t? -u? -v? -x? -y? --nofile? --nproc? --as? --cpu? --core? --data? --fsize? --memlock? --rss? --stack? --noheadings --raw -o: --output: --verbose',
    runs: '-p: --pid:',
  }),
  numactl: wrapper({
    harmless:
      '-lasHb -N: -m: -i: -C: -p: --show --hardware --cpunodebind: --membind: --interleave: --physcpubind: --localalloc',
  }),
  faketime: wrapper({ harmless: '-fm', skip: 1 }),
  flock: call => {
    call.say('file.make', 'MEDIUM', 'flock makes the file that it locks')
    FLOCK(call)
  },
  ...named(
    'strace ltrace',
    wrapper({
      harmless:
        '-fFcCdhiknqrtTvVwxyYzZ -e: -s: -a: -O: -S: -I: -b: -P: -X: -U: --trace: --follow-forks --summary --string-limit: --decode-fds?',
      runs: '-p: -u: -E: --attach: --user: --env:',
      writes: '-o: --output:',
      besides: { risk: 'MEDIUM', code: 'debugger', text: 'watches a program from the inside' },
    }),
  ),
  valgrind: wrapper({
    harmless: `-qvd --quiet --verbose --leak-check? --show-leak-kinds? --track-origins? --error-exitcode? --trace-children?
      --num-callers? --track-fds? --time-stamp? --errors-for-leak-kinds? --show-reachable? --child-silent-after-fork?`,
    reads: '--suppressions:',
    writes: '--log-file: --xml-file: --massif-out-file: --callgrind-out-file: --cachegrind-out-file:',
    runs: '--tool? --db-command: --vgdb? --log-socket:',
  }),
  perf: call => {
    call.say('debugger', 'MEDIUM', 'perf watches a program from the inside')
    PERF(call)
  },
  hyperfine: call => {
    for (const arg of call.args) if (!isFlag(arg) && !/^\d+$/.test(arg.value)) call.shell(arg)
    call.say('bench', 'MEDIUM', 'hyperfine runs commands many times')
  },
  watch: wrapper({
    harmless:
      '-bcCdeftgprwx -n: -q: -s: --interval: --equexit: --beep --color --differences? --errexit --chgexit --precise --no-title --exec',
    joins: true,
    besides: { risk: 'MEDIUM', code: 'wrapper', text: 'runs a command again and again' },
  }),
  'xvfb-run': wrapper({
    harmless: '-al -n: -p: -w: --auto-servernum --listen-tcp --server-num: --wait:',
    asks: '-s: --server-args: --xauth-protocol:',
    writes: '-e: -f: --error-file: --auth-file:',
  }),
  'systemd-run': wrapper({
    harmless:
      '-dGPqrStS -u: -p: -E: -M: -H: --unit: --property: --user --scope --wait --collect --setenv: --pty --pipe --quiet',
    besides: { risk: 'HIGH', code: 'persist', text: 'runs a program outside this session' },
  }),
  firejail: wrapper({
    harmless: '--*',
    besides: { risk: 'MEDIUM', code: 'escalate', text: 'runs in another sandbox' },
  }),
  entr: wrapper({
    harmless: '-acdnprsxz',
    besides: { risk: 'MEDIUM', code: 'wrapper', text: 'runs a command again and again' },
  }),
  command: call => (call.args[0] && /^-[pvV]*[vV]$/.test(call.args[0].value) ? undefined : COMMAND(call)),
  builtin: plain,
  exec: wrapper({ harmless: '-cl -a:' }),
  env: envRule,
  printenv: call =>
    call.say(
      'env.print',
      call.args.some(arg => /key|token|secret|pass|credential/i.test(arg.value)) ? 'HIGH' : 'MEDIUM',
      'it shows the environment',
    ),
  'cross-env': wrapper({ assigns: true }),
  'cross-env-shell': wrapper({ assigns: true, joins: true }),
  xargs: call => {
    call.say('arg.unknown', 'MEDIUM', 'xargs takes words from its input')
    const { flags, rest } = peel(call, XARGS, {})
    const mark = flags.find(flag => /^(I|i|J|replace)$/.test(flag.name))?.value?.value ?? '{}'
    const filled = rest.map(arg => (arg.value.includes(mark) ? made(arg.value.replaceAll(mark, HOLE), arg) : arg))
    if (filled.length > 0) call.run(filled)
  },
  parallel: parallelRule,
  rush: parallelRule,
  script: call => {
    const command = findFlag(call.args, ['-c', '--command'], 'cETIOB')
    if (command?.value) call.shell(command.value)
    const file = call.args.find(
      (arg, place) => !isFlag(arg) && !/^-[a-zA-Z]*c$/.test(call.args[place - 1]?.value ?? ''),
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
      afterWord(call, ['run', 'exec'])
    },
  ),
  eval: call => {
    const [first] = call.args
    if (first) call.say('shell.nested', 'MEDIUM', 'eval reads its words as a command', first)
    if (first)
      call.shell({
        ...made(call.args.map(arg => arg.value).join(' '), first),
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
      call.shell(made(arg.value.slice(equals + 1), arg))
      call.say('shell.alias', 'HIGH', 'commands after it may be other programs than they look', arg)
    }
  },
}

function envRule(call: Call): undefined {
  const split = findFlag(call.args, ['-S', '--split-string'], 'uSCP')
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
  ENV_RULE(call)
}

const SCHEDULED = wrapper({
  harmless:
    '-abfdoriRvmc -T: -P: -D: -n: --all-tasks --batch --fifo --rr --other --idle --deadline --cpu-list --max --sched-runtime: --sched-deadline: --sched-period:',
  skip: 1,
})
const COMMAND = wrapper({ harmless: '-p' })
const PERF = wrapper({
  harmless: '-adgrvR -e: -F: -t: -C: -c: --call-graph: --all-cpus',
  skip: 1,
  writes: '-o: --output:',
})
const FLOCK = wrapper({
  harmless:
    '-enosuxFv -w: -E: -c: --exclusive --nonblock --nb --shared --unlock --close --no-fork --verbose --wait: --timeout: --conflict-exit-code: --command:',
  skip: 1,
  shell: ['c', 'command'],
})

/** `parallel cmd ::: a b`: what stands before `:::` runs; with nothing before it, each word after it does. */
function parallelRule(call: Call): undefined {
  const place = call.args.findIndex(arg => /^:::/.test(arg.value))
  const before = (place < 0 ? call.args : call.args.slice(0, place)).filter(arg => !isFlag(arg))
  call.say('wrapper', 'MEDIUM', 'parallel puts commands together from its input')
  const commands = before.filter(arg => !/^\d+%?$/.test(arg.value))
  if (commands.length > 0 && commands[0]) {
    call.shell({
      ...made(commands.map(arg => arg.value).join(' '), commands[0]),
      known: commands.every(arg => arg.known),
    })
    if (commands.length > 1) call.run(commands)
  } else if (place >= 0) for (const arg of call.args.slice(place + 1)) call.shell(arg)
  else call.say('shell.unknown-text', 'HIGH', 'it runs every line of its input')
}

function afterWord(call: Call, words: string[]): undefined {
  const dashes = call.args.findIndex(arg => arg.value === '--')
  const place = dashes < 0 ? call.args.findIndex(arg => words.includes(arg.value)) : dashes
  const rest = place < 0 ? call.args.filter(arg => !isFlag(arg)) : call.args.slice(place + 1)
  const inner = rest[0]?.value === '--' ? rest.slice(1) : rest
  if (inner.length > 0) call.run(inner)
}
