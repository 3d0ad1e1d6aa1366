import type { ProgramRules } from '../classify/call.ts'
import { deriveArg, findOperands } from '../shell/args.ts'
import { named, wrapper } from './rule-builders.ts'

const plain = wrapper()

const ARCH = '-BFILRSTXZv3 --verbose --addr-no-randomize --show? --3gb --32bit --uname-2.6'

const OTHER_PROCESS = 'changes a process that runs already'

/** Programs that run other programs: the command that they run is judged. */
export const WRAPPERS: ProgramRules = {
  ...named('shx nohup eatmydata catchsegv pty', plain),
  ...named('linux32 linux64 i386 i686 x86_64 aarch64 uname26', wrapper({ harmless: ARCH, shellAlone: true })),
  setsid: wrapper({
    harmless: '-cfw --ctty --fork --wait',
    besides: { risk: 'MEDIUM', code: 'proc.detach', text: 'lets it go on when the session has ended', held: true },
  }),
  unbuffer: wrapper({ harmless: '-p' }),
  caffeinate: wrapper({ harmless: '-disum -t: -w:' }),
  ...named('ccache sccache', plain),
  ...named(
    'torsocks torify tsocks proxychains proxychains4 distcc',
    wrapper({ besides: { risk: 'MEDIUM', code: 'net.get', text: 'takes it over the network' } }),
  ),
  fakeroot: wrapper({
    harmless: '-hvu --unknown-is-real',
    runs: '-l: --lib: -f: --faked: -i: -s: -b:',
    shellAlone: true,
    besides: { risk: 'MEDIUM', code: 'wrapper', text: 'lets it believe that it is root' },
  }),
  ...named(
    'dbus-run-session dbus-launch',
    wrapper({ harmless: '--exit-with-session --sh-syntax', runs: '--config-file: --dbus-daemon: --exit-with-x11' }),
  ),
  rlwrap: wrapper({ harmless: '-acnrRsv', runs: '-f: -z: -H: -l: -P:' }),
  ...named(
    'with-contenv cgexec',
    wrapper({ harmless: '-g:', besides: { risk: 'MEDIUM', code: 'wrapper', text: 'runs it in another environment' } }),
  ),
  setarch: wrapper({ harmless: ARCH, shellAlone: true }),
  ...named('busybox toybox', wrapper({ harmless: '--list --list-full', writes: '--install' })),
  coreutils: call => {
    const program = call.args.find(arg => arg.value.startsWith('--coreutils-prog'))
    if (program === undefined) return plain(call)
    const value = program.value.replace(/^--coreutils-prog(-shebang)?=/, '')
    call.run([deriveArg(value, program), ...call.args.slice(call.args.indexOf(program) + 1)])
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
    const [file] = findOperands(call.args, ['-w', '-E', '--wait', '--timeout', '--conflict-exit-code'])
    if (file && !/^\/tmp\/[\w.-]+$/.test(file.value)) call.path(file, 'write')
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
    // To count is not to look inside.
    const counts = call.args[0]?.value === 'stat'
    call.say(counts ? 'script.run' : 'debugger', 'MEDIUM', 'perf watches a program')
    PERF(call)
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
