import type { Call, Rules } from '../../call.ts'
import { HOLE, isFlag, made } from '../../words/arg.ts'
import { findFlag } from '../../words/flags.ts'
import { innerOf, named, wrapper } from '../common/build.ts'

const plain = wrapper()

const XARGS_VALUED =
  '-a -d -E -I -L -n -P -s -J -R -S --arg-file --delimiter --max-args --max-lines --max-procs --max-chars'.split(' ')

/** Programs that run other programs: they are peeled, and what they run is judged. */
export const WRAPPERS: Rules = {
  ...named(
    'nohup setsid unbuffer torsocks torify tsocks proxychains proxychains4 fakeroot dbus-run-session dbus-launch ccache sccache distcc catchsegv caffeinate gtime eatmydata rlwrap with-contenv setarch linux32 linux64 cgexec pty busybox toybox coreutils',
    plain,
  ),
  time: wrapper({ valued: ['-f'], write: ['-o', '--output'] }),
  nice: wrapper({ valued: ['-n', '--adjustment'] }),
  ionice: wrapper({ valued: ['-c', '-n', '-p', '-P', '-u', '--class', '--classdata'] }),
  timeout: wrapper({ valued: ['-k', '-s', '--kill-after', '--signal'], skip: 1 }),
  gtimeout: wrapper({ valued: ['-k', '-s', '--kill-after', '--signal'], skip: 1 }),
  stdbuf: wrapper({ valued: ['-i', '-o', '-e', '--input', '--output', '--error'] }),
  chrt: wrapper({ valued: ['-T', '-P', '-D'], skip: 1 }),
  taskset: wrapper({ skip: 1 }),
  numactl: wrapper({ valued: ['-N', '-m', '-i', '-C', '-p'] }),
  prlimit: wrapper({}),
  faketime: wrapper({ skip: 1 }),
  flock: wrapper({
    valued: ['-w', '-E', '--wait', '--timeout', '--conflict-exit-code'],
    skip: 1,
    shell: ['-c', '--command'],
  }),
  ...named(
    'strace ltrace',
    wrapper({
      valued: ['-e', '-p', '-s', '-u', '-E', '-a', '-O', '-S', '-I', '-b', '-P', '-X'],
      write: ['-o', '--output'],
      besides: { risk: 'MEDIUM', code: 'debugger', text: 'watches a program from the inside' },
    }),
  ),
  valgrind: wrapper({}),
  perf: wrapper({ skip: 1, valued: ['-e', '-F', '-p', '-t', '-C'], write: ['-o', '--output'] }),
  hyperfine: call => {
    for (const arg of call.args) if (!isFlag(arg) && !/^\d+$/.test(arg.value)) call.shell(arg)
    call.say('bench', 'MEDIUM', 'hyperfine runs commands many times')
  },
  watch: wrapper({
    valued: ['-n', '--interval', '-q', '--equexit'],
    joins: true,
    besides: { risk: 'MEDIUM', code: 'wrapper', text: 'runs a command again and again' },
  }),
  ...named('xvfb-run', wrapper({ valued: ['-n', '-s', '-e', '-f', '-p', '-w', '--server-args', '--server-num'] })),
  'systemd-run': wrapper({
    valued: ['-u', '-p', '-E', '-t', '--unit', '--property', '-M'],
    besides: { risk: 'HIGH', code: 'persist', text: 'runs a program outside this session' },
  }),
  firejail: wrapper({ besides: { risk: 'MEDIUM', code: 'escalate', text: 'runs in another sandbox' } }),
  entr: wrapper({ besides: { risk: 'MEDIUM', code: 'wrapper', text: 'runs a command again and again' } }),
  command: call => (call.args[0] && /^-[vV]+$/.test(call.args[0].value) ? undefined : plain(call)),
  builtin: plain,
  exec: wrapper({ valued: ['-a'] }),
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
    const mark = findFlag(call.args, ['-I', '-i', '--replace', '-J'], 'IadELnPsJ')?.value?.value ?? '{}'
    const inner = innerOf(call, { valued: XARGS_VALUED })
    const filled = inner.map(arg => (arg.value.includes(mark) ? made(arg.value.replaceAll(mark, HOLE), arg) : arg))
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
      shell: ['--run', '--command'],
      valued: ['-p', '-I', '-A', '-E'],
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
  wrapper({
    valued: ['-u', '--unset', '-C', '--chdir', '-P', '-a', '--argv0'],
    assigns: true,
    alone: { risk: 'MEDIUM', code: 'env.print', text: 'shows the environment' },
  })(call)
}

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
