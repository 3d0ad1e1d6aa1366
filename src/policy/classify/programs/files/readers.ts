import type { Rule, Rules } from '../../call.ts'
import { named, type ReaderRow, reader } from '../common/build.ts'

const text = reader({ operands: 'text' })

const files = reader()

/** A search of whole trees: with what is hidden or ignored it finds secrets too. */
function search(row: ReaderRow): Rule {
  const plain = reader({ ...row, deep: 'always' })
  return call => {
    const wide = call.args.find(arg =>
      /^(-[a-zA-Z]*u[a-zA-Z]*|--hidden|-\.|--no-ignore.*|--unrestricted)$/.test(arg.value),
    )
    if (wide) call.say('read.wide', 'MEDIUM', `${wide.text} searches what is hidden or ignored`, wide)
    plain(call)
  }
}

/** Programs that look at things and print: LOW, with the flags that make them do more. */
export const READERS: Rules = {
  ...named(
    'echo true false : test [ pwd seq sleep date uname arch nproc whoami id groups logname tty uptime basename dirname expr factor cal free locale getconf hostid which whereis type times jobs wait ulimit let shift return exit break continue dirs help whatis apropos man info tput clear reset stty getopt getopts w who users lsb_release sw_vers vm_stat numfmt tsort yes getent lscpu lsblk lsusb lspci lsmod dmidecode pgrep pidof pstree lsof top vmstat iostat mpstat last printf',
    text,
  ),
  ...named(
    'cat head tac rev nl wc stat readlink realpath cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum shasum b2sum md5 od hexdump strings file ls dir vdir du df exa eza lsd tokei cloc scc cut paste join comm cmp column fold fmt expand unexpand tr zcat bzcat xzcat gzcat zstdcat lz4cat colrm look pr base32 basenc nm ldd objdump readelf size otool mdls jsonlint csvlook glow mdcat diffstat dust duf identify mediainfo sha256 vdiff locate mlocate plocate',
    files,
  ),
  printf: reader({ operands: 'text', exec: [] }),
  cat: files,
  head: reader({ valued: ['-n', '-c', '--lines', '--bytes'] }),
  tail: reader({ valued: ['-n', '-c', '-s', '--lines', '--bytes', '--pid'] }),
  cut: reader({ valued: ['-d', '-f', '-c', '-b'] }),
  tr: text,
  du: reader({ reads: ['--files0-from', '-X', '--exclude-from'], valued: ['-d', '-t', '-B'] }),
  wc: reader({ reads: ['--files0-from'] }),
  tree: reader({
    write: ['-o'],
    valued: ['-L', '-P', '-I', '-H', '-T', '--filelimit', '--charset'],
    reads: ['--fromfile', '--gitfile', '--infofile'],
  }),
  grep: reader({
    operands: 'pattern-first',
    valued: ['-e', '-m', '-A', '-B', '-C', '-d', '-D', '--regexp', '--max-count'],
    reads: ['-f', '--file', '--exclude-from'],
    deep: ['-r', '-R', '--recursive', '--dereference-recursive'],
  }),
  ...named(
    'egrep fgrep zgrep zegrep',
    reader({
      operands: 'pattern-first',
      valued: ['-e', '-m', '-A', '-B', '-C'],
      reads: ['-f', '--file'],
      deep: ['-r', '-R', '--recursive'],
    }),
  ),
  ...named(
    'rg',
    search({
      operands: 'pattern-first',
      exec: ['--pre', '--hostname-bin'],
      valued: [
        '-e',
        '-g',
        '-t',
        '-T',
        '-A',
        '-B',
        '-C',
        '-m',
        '-M',
        '-j',
        '-d',
        '-r',
        '-E',
        '--glob',
        '--iglob',
        '--type',
        '--type-not',
        '--max-count',
        '--max-depth',
        '--context',
        '--after-context',
        '--before-context',
        '--replace',
        '--sort',
        '--sortr',
        '--type-add',
        '--type-clear',
        '--threads',
        '--encoding',
        '--color',
        '--colors',
        '--max-filesize',
        '--max-columns',
        '--engine',
        '--pre-glob',
      ],
      reads: ['-f', '--file', '--ignore-file'],
      deep: 'always',
    }),
  ),
  ...named(
    'ag ack',
    reader({
      operands: 'pattern-first',
      exec: ['--pager', '--ackrc'],
      valued: ['-A', '-B', '-C', '-m', '-G', '--depth'],
      deep: 'always',
    }),
  ),
  sort: reader({
    write: ['-o', '--output'],
    exec: ['--compress-program'],
    valued: [
      '-k',
      '-t',
      '-S',
      '-T',
      '--key',
      '--field-separator',
      '--buffer-size',
      '--temporary-directory',
      '--parallel',
      '--batch-size',
    ],
    reads: ['--files0-from', '--random-source'],
  }),
  uniq: reader({ valued: ['-f', '-s', '-w'], writesFrom: 1 }),
  shuf: call => {
    const random = call.args.find(arg => arg.value.startsWith('--random-s'))
    if (random) call.say('flag.unusual', 'MEDIUM', `${random.text} reads a file as random numbers`, random)
    reader({ write: ['-o', '--output'], valued: ['-n', '-i'], reads: ['--random-source'] })(call)
  },
  split: call => call.say('write.files', 'MEDIUM', `${call.name} writes files`),
  csplit: call => call.say('write.files', 'MEDIUM', `${call.name} writes files`),
  diff: reader({ write: ['--output', '--to-file'], valued: ['-U', '-C', '-I', '-x', '-X', '-L', '--label', '-W'] }),
  ...named('sdiff', reader({ write: ['-o', '--output'] })),
  ...named('diff3 colordiff', files),
  ...named('less more most', call => {
    const command = call.args.find(arg => /^\+[^\d/G]/.test(arg.value))
    if (command) call.say('flag.runs', 'HIGH', `${command.text} is a command for ${call.name}`, command)
    reader({
      exec: ['--cmd', '--lesskey-file', '--lesskey-src', '--lesskey-content', '-k'],
      write: ['-o', '-O', '--log-file', '--LOG-FILE'],
      valued: ['-p', '-x', '-b', '-h', '-j', '-t', '-T', '-y'],
    })(call)
  }),
  xxd: call => {
    const reverse = call.args.some(arg => /^-[a-z]*r/.test(arg.value) || arg.value === '-revert')
    reader({ valued: ['-l', '-s', '-c', '-g', '-o', '-n', '-name'], writesFrom: 1 })(call)
    if (reverse) call.say('obfuscation.decode', 'MEDIUM', 'xxd -r turns text into bytes')
  },
  ...named('base64', call => {
    reader({ write: ['-o', '--output'], valued: ['-w', '-b'], reads: ['-i', '--input'] })(call)
    if (call.args.some(arg => /^(-[a-zA-Z]*[dD]|--decode)$/.test(arg.value)))
      call.say('obfuscation.decode', 'MEDIUM', 'it decodes a text')
  }),
  ...named(
    'yamllint xmllint jsonlint',
    reader({
      exec: ['-c', '--load-trace', '--catalogs', '--shell'],
      write: ['-o', '--output'],
      valued: ['--xpath', '--schema', '--format'],
    }),
  ),
  jq: reader({
    operands: 'pattern-first',
    exec: ['-L', '--library-path'],
    reads: ['-f', '--from-file', '--slurpfile', '--rawfile', '--argfile'],
    valued: ['--indent'],
  }),
  ...named('yq', call => {
    const inPlace = call.args.find(arg => /^(-[a-zA-Z]*i|--inplace|--in-place)$/.test(arg.value))
    if (inPlace) call.say('write.in-place', 'MEDIUM', `${inPlace.text} changes the file`, inPlace)
    reader({
      operands: 'pattern-first',
      exec: ['-L', '--library-path', '--from-file'],
      valued: ['-o', '-p', '--output-format', '--input-format'],
    })(call)
    if (inPlace) for (const arg of call.args.slice(1)) if (!arg.value.startsWith('-')) call.secret(arg)
  }),
  ...named('gron fx jless jc htmlq pup mlr xsv csvcut csvgrep csvsql dasel', reader({ operands: 'pattern-first' })),
  iconv: reader({ write: ['-o', '--output'], valued: ['-f', '-t'] }),
  date: call => {
    const sets = call.args.find(arg => /^(-s|--set)/.test(arg.value) || /^\d{8,}/.test(arg.value))
    if (sets) call.say('system.clock', 'HIGH', 'it sets the clock', sets)
    for (const arg of call.args) call.secret({ ...arg, value: arg.value.replace(/^(--file=|--reference=|-[fr])/, '') })
  },
  hostname: call => {
    if (call.args.some(arg => !arg.value.startsWith('-') || arg.value === '-F' || arg.value === '-b'))
      call.say('system.change', 'HIGH', 'it renames the machine')
  },
  ps: call => {
    const shows = call.args.find(arg => /^[a-z]*e[a-z]*$|^-[A-Za-z]*E/.test(arg.value))
    if (shows) call.say('env.print', 'MEDIUM', `${shows.text} shows the environment of processes`, shows)
  },
  ...named(
    'bat batcat',
    reader({
      exec: ['--pager', '--config-file'],
      valued: ['-r', '-l', '-H', '--theme', '--style', '--language', '--line-range', '--color', '--paging', '--wrap'],
    }),
  ),
  hash: call => {
    if (call.args.some(arg => /^-[a-z]*p/.test(arg.value)))
      call.say('shell.extend', 'HIGH', 'hash -p gives a name another program')
  },
  umask: call => {
    if (call.args.some(arg => !/^-[Sp]+$/.test(arg.value)))
      call.say('file.mode', 'HIGH', 'umask changes the rights of every file made later')
  },
  dmesg: call =>
    call.args.some(arg => /^-(c|C|-clear|-read-clear|D|E|n)/.test(arg.value))
      ? call.say('system.change', 'HIGH', 'it changes the kernel log')
      : undefined,
  tput: text,
  man: reader({
    operands: 'text',
    exec: [
      '-P',
      '--pager',
      '-H',
      '--html',
      '-C',
      '--config-file',
      '-l',
      '-X',
      '--gxditview',
      '--preprocessor',
      '-p',
      '-M',
      '--manpath',
    ],
  }),
  stty: text,
  column: files,
  openssl: call => {
    const [verb] = call.args
    if (verb && /^(version|dgst|list|ciphers|rand|prime)$/.test(verb.value))
      reader({
        write: ['-out', '-writerand'],
        exec: ['-engine', '-provider', '-provider-path', '-config'],
        reads: ['-sign', '-in'],
      })(call)
    else if (verb && /^(s_client|s_server|s_time)$/.test(verb.value))
      call.say('net.raw', verb.value === 's_server' ? 'HIGH' : 'MEDIUM', 'openssl opens a connection', verb)
    else {
      call.say('crypto', 'MEDIUM', 'openssl handles keys, certificates or encrypted data')
      for (const arg of call.args) call.secret({ ...arg, value: arg.value.replace(/^(file|pass):/, '') })
      if (call.args.some(arg => /^-(out|keyout|writerand|CAserial)/.test(arg.value)))
        call.say('write.flag', 'HIGH', 'openssl writes a file')
      if (call.args.some(arg => /^-(engine|provider|config|provider-path)$/.test(arg.value)))
        call.say('flag.runs', 'HIGH', 'openssl loads code')
    }
  },
}
