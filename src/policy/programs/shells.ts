import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { judgeAssignment } from '../classify/environment.ts'
import { wasWritten } from '../classify/judge-file.ts'
import { type Arg, deriveArg, findFlag, findOperands, HOLE, isFlag } from '../shell/args.ts'
import { flagTable, scanFlags } from '../shell/flag-table.ts'
import { listsFiles } from '../shell/printed.ts'
import { named, wrapper } from './rule-builders.ts'
import { judgeScriptFile, judgeShellScript } from './run-code.ts'

/** Shells, and the builtins that make the shell read a file, change its folder or set variables. */
export const SHELLS: ProgramRules = {
  ...named(
    'sh bash dash zsh ksh mksh ash fish csh tcsh rbash rzsh yash elvish nu xonsh osh oil ion pdksh posh hush',
    shell,
  ),
  // A function that `source .venv/bin/activate` defines.
  deactivate: call => {
    for (const arg of call.args) call.say('arg.unknown', 'MEDIUM', `${arg.text} means nothing to deactivate`, arg)
  },
  ...named('source .', call => {
    const file = call.args.find(arg => arg.value !== '--')
    if (file === undefined) return
    call.scope.tainted = true
    if (!file.known || file.value.startsWith('-') || file.value === '/dev/stdin' || /^\/(dev|proc)\//.test(file.value))
      return call.say('shell.unknown-text', 'HIGH', 'the shell reads a text that is known only when it runs', file)
    if (isVersionManager(file.value, call.scope.home) && !wasWritten(file, call))
      return call.say('script.run', 'MEDIUM', `${file.text} makes a version manager known to the shell`, file)
    judgeShellScript(call, file)
  }),
  ...named('cd pushd', call => {
    const target = findOperands(call.args)[0]
    if (target === undefined) {
      if (call.name === 'cd') moveTo(call, call.scope.home)
      return
    }
    if (TOP_LEVEL.test(target.text)) return moveTo(call, call.fence.boundary)
    // A pattern without hidden folders leads into one of the project's own.
    if (
      target.known &&
      target.glob &&
      target.value.length < 256 &&
      LISTED_FOLDER.test(target.value) &&
      call.scope.cwd !== undefined
    ) {
      call.scope.cwd = undefined
      return call.say('cwd.listed', 'MEDIUM', `${target.text} is one of several folders of the project`, target)
    }
    if (target.value === '-' && call.scope.before !== undefined) return moveTo(call, call.scope.before)
    if (!target.known || target.value === '-' || target.glob || /^[+-]\d+$/.test(target.value)) {
      call.scope.cwd = undefined
      return call.say('cwd.unknown', 'MEDIUM', `${target.text} is a folder known only when it runs`, target)
    }
    moveTo(call, target.value)
  }),
  popd: call => {
    call.scope.cwd = undefined
  },
  set: call => {
    if (call.args.length === 0) call.say('env.print', 'MEDIUM', 'it shows every variable')
    const keyword = call.args.find(arg => /^-[a-zA-Z]*k|^keyword$/.test(arg.value))
    if (keyword) call.say('shell.keyword', 'HIGH', 'every NAME=value becomes a variable of the program', keyword)
  },
  ...named('export declare typeset local readonly', call => {
    const isReference = call.name !== 'export' && call.args.some(arg => /^-[a-zA-Z]*n/.test(arg.value))
    for (const arg of call.args) {
      const equals = arg.value.indexOf('=')
      if (equals > 0)
        call.set(arg.value.slice(0, equals).replace(/\+$/, ''), { ...arg, value: arg.value.slice(equals + 1) }, arg)
      if (isReference) call.scope.tainted = true
      // Whatever sets the reference sets the variable that it names.
      if (isReference && !isFlag(arg)) {
        const value = { ...arg, value: HOLE, known: false }
        if (!arg.known || equals < 0) sayUnknownName(call, arg)
        else
          judgeAssignment({ name: arg.value.slice(equals + 1), value, at: arg.at, alone: true }, reason =>
            call.say(reason.code, reason.risk, reason.text, arg),
          )
      }
      if (!arg.known && !/^[A-Za-z_]\w*\+?=/.test(arg.value)) sayUnknownName(call, arg)
    }
    if (call.args.length === 0 || call.args.every(arg => /^-[pxfF]+$/.test(arg.value)))
      call.say('env.print', 'MEDIUM', 'it shows every variable')
  }),
  ...named('read getopts let wait unset printf', setVariables),
  ...named('mapfile readarray', call => {
    setVariables(call)
    const runs = findFlag(call.args, ['-C'], 'CcdnOsu')
    if (runs?.value) {
      call.say('shell.nested', 'MEDIUM', `${runs.arg.text} runs a command for every few lines`, runs.arg)
      call.shell(runs.value)
    }
  }),
  shopt: call => {
    if (call.args.some(arg => /expand_aliases|extdebug|sourcepath/.test(arg.value)))
      call.say('shell.extend', 'MEDIUM', 'it changes how the shell reads')
  },
  setopt: call => call.say('shell.extend', 'MEDIUM', 'it changes how the shell reads'),
}

function sayUnknownName(call: ProgramCall, arg: Arg): undefined {
  call.say('env.hijack', 'HIGH', `which variable ${arg.text} sets is known only when it runs`, arg)
}

/** Flags of variable-setting builtins whose next word is not a variable's name. */
const VALUED: Record<string, string[]> = {
  read: ['-d', '-i', '-n', '-N', '-p', '-t', '-u'],
  mapfile: ['-C', '-c', '-d', '-n', '-O', '-s', '-u'],
  readarray: ['-C', '-c', '-d', '-n', '-O', '-s', '-u'],
}

/** Builtins that give variables a value that is known only when they run. */
function setVariables(call: ProgramCall): undefined {
  const named = /^(printf|wait)$/.test(call.name)
    ? findVariableName(call, call.name === 'printf' ? 'v' : 'p')
    : findOperands(call.args, VALUED[call.name] ?? []).slice(call.name === 'getopts' ? 1 : 0)
  const joined = call.args
    .filter(arg => /^-[a-z]*a./.test(arg.value))
    .map(arg => deriveArg(arg.value.replace(/^-[a-z]*a/, ''), arg))
  const pipe = call.feed.upstream?.map(program => program.words)
  const isFed = call.name === 'read' && pipe !== undefined && listsFiles(pipe, call.scope)
  for (const arg of [...named, ...joined]) {
    const name = /^([A-Za-z_]\w*)/.exec(arg.value)?.[1]
    if (!arg.known && call.name !== 'let' && call.name !== 'unset') sayUnknownName(call, arg)
    else if (name !== undefined)
      call.set(name, { ...arg, value: HOLE, known: false, ...(isFed && { listed: true }) }, arg)
  }
}

/** `printf -v name` and `printf -vname`. */
function findVariableName(call: ProgramCall, letter: string): Arg[] {
  const index = call.args.findIndex(arg => arg.value.startsWith(`-${letter}`))
  const flag = call.args[index]
  if (flag === undefined) return []
  const next = flag.value.length > 2 ? deriveArg(flag.value.slice(2), flag) : call.args[index + 1]
  return next ? [next] : []
}

/** `cd "$(git rev-parse --show-toplevel)"` is the usual way to go to the top of the project. */
const TOP_LEVEL = /^"?\$\(git rev-parse --show-toplevel\)"?$/

function moveTo(call: ProgramCall, path: string): undefined {
  const before = call.scope.cwd
  call.move(path)
  call.scope.before = before
}

/** Flags of shells that take the next word; in `-co errexit 'text'` the value comes before the text. */
const SHELL_FLAGS = flagTable({
  harmless: `-abefhiklmnprstuvxBCDEHPT -c -o: -O: --login --norc --noprofile --posix --restricted --verbose --noediting --debugger --no-config
    --private --interactive --no-execute --command:`,
  runs: '--rcfile: --init-file: --init-command:',
})

function shell(call: ProgramCall): undefined {
  const { feed } = call
  // Everything after the first word that is no flag belongs to the script.
  const args = call.args.filter(arg => !/^\+[a-zA-Z]/.test(arg.value))
  const seen = scanFlags(args, SHELL_FLAGS, () => true)
  for (const { kind, arg } of seen.flags)
    if (kind === 'runs') call.say('flag.runs', 'HIGH', `${arg.text} makes the shell read another file first`, arg)
  for (const arg of seen.unknown)
    call.say('flag.unknown', 'MEDIUM', `${arg.text} is not a flag of ${call.name} that the policy knows`, arg)
  const [file] = seen.rest
  const command = seen.flags.find(flag => flag.name === 'c' || flag.name === 'command')
  if (command) {
    const script = command.value ?? file
    if (script === undefined) return call.say('shell.unknown-text', 'HIGH', 'the text for the shell is missing')
    call.say('shell.nested', 'MEDIUM', `${call.name} -c reads a text`, command.arg)
    const given = command.value ? seen.rest : seen.rest.slice(1)
    return withListed(call, given, () => call.shell(script))
  }
  const has = (name: string) => seen.flags.some(flag => flag.name === name)
  const noRun = (has('n') || has('no-execute')) && !has('i') && args.length === call.args.length
  if (file && file.value !== '-' && !has('s') && !/^\/dev\/(stdin|fd\/0)$/.test(file.value)) {
    if (noRun && file.known) return call.path(file, 'read')
    return judgeShellScript(call, file)
  }
  if (feed.text) return call.shell(feed.text)
  if (feed.file) return judgeScriptFile(call, feed.file, 'HIGH')
  if (feed.piped) return call.say('pipe.interpreter', 'HIGH', `bytes of another program reach ${call.name}`)
  call.say('shell.interactive', 'MEDIUM', `${call.name} without a script waits for commands`)
}

/** In the text for a shell `$0`, `$1` and `$@` are the words after it: names of the project's files, if those are. */
function withListed({ scope }: ProgramCall, words: readonly Arg[], read: () => undefined): undefined {
  const isListed = (arg: Arg | undefined) => arg?.listed === true && arg.value === HOLE
  const [first, ...rest] = words
  // What xargs puts in may be several words.
  const hasRest = rest.every(isListed) && (rest.length > 0 || isListed(first))
  const names = [...(isListed(first) ? ['0'] : []), ...(hasRest ? ['1', '2', '@', '*'] : [])].filter(
    name => !scope.listed.has(name),
  )
  for (const name of names) scope.listed.add(name)
  read()
  for (const name of names) scope.listed.delete(name)
}

const LISTED_FOLDER = /^(\.\/)?([\w@-][\w@.-]*\/)*[\w@*?-][\w@.*?-]*(\/[\w@*?-][\w@.*?-]*)*\/?$/

/** A person's own version manager, by its place. Only a person can write there. */
function isVersionManager(path: string, home: string): boolean {
  const rest = path.startsWith(`${home}/`) ? path.slice(home.length + 1) : ''
  return /^(\.nvm\/nvm\.sh|\.cargo\/env|\.asdf\/asdf\.sh|\.sdkman\/bin\/sdkman-init\.sh|\.rvm\/scripts\/rvm)$/.test(
    rest,
  )
}

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
