import type { ProgramRules } from '../classify/call.ts'
import { isFlag } from '../shell/args.ts'
import { flagTable, scanFlags } from '../shell/flag-table.ts'
import { judgeFlags, named, reader } from './rule-builders.ts'

const DATE = flagTable({
  harmless: `-uRjnI? -d: -v: -z: --utc --universal --date: --iso-8601? --rfc-3339: --rfc-email --debug --resolution`,
  reads: '-f: -r: --file: --reference:',
})

const PS = reader({
  operands: 'text',
  harmless: `-# -aAcdefFgGHjlLmMNoOPrSTvVwxXyZ -p: -C: -u: -U: -t: -o: -O: -q: -s: -g: -G: -k: --pid: --ppid: --user: --User:
        --group: --tty: --sid: --sort: --format: --forest --headers --no-headers --no-heading --cols: --columns: --rows: --lines:
        --width: --cumulative --deselect --info`,
})

const DMESG = reader({
  operands: 'text',
  harmless: `-deHhJkLPpqrStTuwWx -f: -l: -s: --facility: --level: --human --json --kernel --color? --nopager --raw
            --ctime --notime --time-format: --userspace --follow --follow-new --decode --show-delta --reltime --since: --until:`,
  reads: '-F: --file:',
})

const GETENT = reader({ operands: 'text', harmless: '-iA --no-idn --no-addrconfig' })
const HASH = reader({ operands: 'text', harmless: '-rltd' })
const JOBS = reader({ operands: 'text', harmless: '-lnprs' })

/** Programs that show the state of the machine and what runs on it. */
export const MACHINE: ProgramRules = {
  date: call => {
    const sets = call.args.find(arg => /^(-[uRn]*s|--s)/.test(arg.value))
    if (sets) return call.say('system.clock', 'HIGH', 'it sets the clock', sets)
    const seen = scanFlags(call.args, DATE)
    judgeFlags(call, seen)
    // BSD: with -j the clock is not set, and an operand is the time to convert.
    const onlyShows = seen.flags.some(flag => flag.name === 'j')
    for (const arg of seen.operands) {
      if (arg.value.startsWith('+') || onlyShows) continue
      if (!arg.known) call.unknown(arg)
      else call.say('system.clock', 'HIGH', `${arg.text} sets the clock`, arg)
    }
  },
  hostname: call => {
    const odd = call.args.find(
      arg =>
        !/^(-[AadfiIsy]+|--(alias|all-fqdns|all-ip-addresses|domain|fqdn|long|ip-address|short|yp|nis|version|help))$/.test(
          arg.value,
        ),
    )
    if (odd) call.say('system.change', 'HIGH', `${odd.text} renames the machine`, odd)
  },
  ps: call => {
    const shows = call.args.find(arg => /^[a-z]*e[a-z]*$|^-[A-Za-z]*E/.test(arg.value))
    if (shows) call.say('env.print', 'MEDIUM', `${shows.text} shows the environment of processes`, shows)
    PS(call)
  },
  ...named(
    'pgrep pidof',
    reader({
      operands: 'text',
      harmless: `-acdDfhilLnorsqvwxzA -d: -g: -G: -P: -s: -t: -u: -U: -o: -O: --delimiter: --list-name --list-full --inverse
        --lightweight --count --full --group: --parent: --session: --terminal: --euid: --uid: --exact --newest --oldest --older:
        --ignore-case --runstates: --cgroup: --ns: --nslist: --single-shot --omit-pid:`,
      reads: '-F: --pidfile:',
    }),
  ),
  pstree: reader({
    operands: 'text',
    harmless:
      '-acglnpsStTuUVZAGh -H: -N: -C: --arguments --compact-not --long --numeric-sort --show-pids --show-parents',
  }),
  uuidgen: reader({
    operands: 'text',
    harmless: '-rtmsx67 -n: -N: -C: --random --time --md5 --sha1 --hex --namespace: --name: --count:',
  }),
  lsof: reader({
    operands: 'text',
    harmless: `-abChlnNOPtRUvVwXKMzZE -i? -c: -d: -s? -F? -o? -T? -f? -S? -r? -L? -e: -x?`,
    // What other processes and people have open.
    asks: '-p: -u: -g?',
    // It reads or writes a cache file of devices.
    writes: '-D:',
  }),
  top: reader({ operands: 'text', harmless: '-bcHiSsEeI -n: -d: -p: -u: -U: -o: -l: -w? -F -R -O -stats: -t' }),
  ...named(
    'w who last lastb lastlog',
    reader({
      harmless: `-# -abdFhHilmnopqrRstTuwx -n: -t: -p: --heading --count --users --limit: --present: --since: --until: --time-format: --fullnames --hostlast --ip --short --no-header --all --lookup`,
      reads: '-f: --file:',
    }),
  ),
  ...named(
    'free vmstat mpstat lscpu lsblk lsmod lsusb locale',
    reader({
      operands: 'text',
      harmless: `-# -abcdDefhiIJklLmnoOPpstSTuUvVwxyAHNMrz -o: --output: --human --total --wide --json --bytes --all --fs
        --perms --paths --noheadings --list --pairs --raw --tree? --tree --extended? --parse? --online --offline --si
        --mebi --kibi --gibi --mega --giga --kilo --seconds: --count: --lohi --stats --active --timestamp --unit: --verbose
        --all-locales --charmaps --keyword-name --category-name --nodeps --topology --scsi --nvme --sort: --exclude: --include:`,
    }),
  ),
  lspci: reader({ operands: 'text', harmless: '-kvnxtDPqmQ -s: -d:', reads: '-i: -p: -F: -A: -O: -H:' }),
  dmidecode: reader({
    operands: 'text',
    harmless: '-qu -s: -t: -H: --quiet --string: --type: --handle: --dump --no-sysfs',
    reads: '-d: --from-dump: --dev-mem:',
    writes: '--dump-bin:',
  }),
  getconf: reader({ operands: 'text', harmless: '-a' }),
  whereis: reader({ operands: 'text', harmless: '-bmsulgf -B: -M: -S:' }),
  getent: call => {
    const [base] = call.args.filter(arg => !isFlag(arg))
    if (base && /^(shadow|gshadow)$/.test(base.value))
      return call.say('path.secret', 'HIGH', `${base.text} holds the passwords of the machine`, base)
    if (base && !/^(passwd|group|services|protocols|networks|rpc|ethers)$/.test(base.value))
      call.say('net.look', 'MEDIUM', `getent ${base.text} may ask the network`, base)
    GETENT(call)
  },
  dmesg: call =>
    call.args.some(arg => /^-(-clear|-read-clear|-console|[a-zA-Z]*[cCDEn])/.test(arg.value))
      ? call.say('system.change', 'HIGH', 'it changes the kernel log')
      : DMESG(call),
  hash: call => {
    if (call.args.some(arg => /^-[a-z]*p/.test(arg.value)))
      call.say('shell.extend', 'HIGH', 'hash -p gives a name another program')
    else HASH(call)
  },
  umask: call => {
    if (call.args.some(arg => !/^-[Sp]+$/.test(arg.value)))
      call.say('file.mode', 'HIGH', 'umask changes the rights of every file made later')
  },
  jobs: call => {
    const runs = call.args.findIndex(arg => /^-[a-z]*x/.test(arg.value))
    if (runs >= 0) return call.run(call.args.slice(runs + 1))
    JOBS(call)
  },
  // On macOS it runs a program for another processor.
  arch: call => {
    const command = call.args.findIndex(arg => !isFlag(arg))
    if (command >= 0) return call.run(call.args.slice(command))
    if (call.args.length > 0) call.say('flag.unknown', 'MEDIUM', 'arch may run a program', call.args[0])
  },
}
