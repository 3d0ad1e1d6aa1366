import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { findSpelled, isOwnFile, staysInSandbox } from '../classify/judge-file.ts'
import { locatePath } from '../paths/fence.ts'
import { isHeldRemoval, isHeldWrite, isMadeAgain, isScratchFile } from '../paths/judge-path.ts'
import { type Arg, findFlag, findOperands, HOLE, isFlag } from '../shell/args.ts'
import { always, named, verbs, wrapper } from './rule-builders.ts'
import { judgeScriptFile } from './run-code.ts'

/** Services, schedules, terminals and windows. */
export const SYSTEM: ProgramRules = {
  ...named(
    'systemctl service rc-service supervisorctl pm2 forever s6-svc sv runit monit',
    verbs({
      rows: [
        [
          /^(status|list-units|list-unit-files|list-timers|is-active|is-enabled|show|cat|list|ls|logs?|info|describe|monit|prettylist|jlist|id|\S+ status|list-dependencies|is-failed|get-default)( |$)/,
          'MEDIUM',
          'system.read',
          'looks at services',
        ],
      ],
      otherwise: { risk: 'HIGH', code: 'system.service', text: 'changes services' },
    }),
  ),
  journalctl: call =>
    call.args.some(arg => /^--(va|ro|fl|upd|set|sy|rel)/.test(arg.value))
      ? call.say('system.change', 'HIGH', 'journalctl removes logs')
      : call.say('system.read', 'MEDIUM', 'journalctl shows logs of the machine'),
  crontab: call => {
    const lists = call.args.some(arg => arg.value === '-l')
    call.say(
      lists ? 'system.read' : 'persist',
      lists ? 'MEDIUM' : 'HIGH',
      lists ? 'crontab shows the schedule' : 'crontab makes programs run by themselves',
    )
  },
  ...named('ip', call => {
    const line = findOperands(call.args)
      .map(arg => arg.value)
      .join(' ')
    const changes =
      /(^| )(set|add|del|delete|change|replace|flush|append|exec|up|down)( |$)/.test(line) ||
      call.args.some(arg => /^-b/.test(arg.value))
    call.say(
      changes ? 'system.network' : 'system.read',
      changes ? 'HIGH' : 'MEDIUM',
      changes ? 'ip changes the network' : 'ip shows the network',
    )
  }),
  ...named(
    'netstat ss iostat sar lsns lsipc findmnt blkid smartctl sensors acpi upower nvidia-smi rocm-smi system_profiler ioreg',
    call => call.say('system.read', 'MEDIUM', `${call.name} looks at the machine`),
  ),
  arp: call => call.say('net.scan', 'MEDIUM', 'arp shows other machines'),
  ...named('tmux screen zellij byobu dtach abduco', call => {
    const sends = call.args.some(arg =>
      /^(send-keys|send|new-session|new|new-window|neww|respawn-pane|split-window|run-shell|run|if-shell|pipe-pane|source-file|kill-.*|-X|-dm|-dmS|-d|set-hook|-c|-A)$/.test(
        arg.value,
      ),
    )
    const lists = call.args.every(
      arg => arg.known && /^(ls|list-\w+|has-session|has|-V|-ls|-list|list-sessions|-t|[\w-]+)$/.test(arg.value),
    )
    const verb = call.args[0]?.value ?? ''
    if (
      !sends &&
      lists &&
      /^(ls|list-(sessions|windows|panes|clients|commands|keys)|has-session|has|-V|-ls|-list)$/.test(verb)
    )
      return call.say('system.read', 'MEDIUM', `${call.name} lists terminals`)
    call.say('terminal', sends ? 'HIGH' : 'MEDIUM', `${call.name} runs commands in another terminal`)
  }),
  ...named('xdotool ydotool wtype xte cliclick autohotkey', call =>
    call.say('terminal', 'HIGH', `${call.name} types for the person`),
  ),
  ...named(
    'open xdg-open start explorer explorer.exe sensible-browser x-www-browser firefox chromium google-chrome chrome',
    call => {
      const odd = call.args.some(arg => isFlag(arg) && /remote-debugging|load-extension|no-sandbox/.test(arg.value))
      call.say('open', odd ? 'HIGH' : 'MEDIUM', `${call.name} opens a program`)
    },
  ),
  ...named(
    'nginx apachectl httpd apache2ctl haproxy postfix sshd dockerd containerd redis-server mysqld postgres mongod named dnsmasq vsftpd smbd',
    call => {
      const tests =
        call.args.length > 0 && call.args.every(arg => /^(-t|-T|-v|-V|configtest|-S|check)$/.test(arg.value))
      call.say(tests ? 'system.read' : 'system.service', 'MEDIUM', `${call.name} is a service`)
    },
  ),
  ...named('wslpath cygpath cygstart', call =>
    call.say('other-os', 'MEDIUM', `${call.name} belongs to another system`),
  ),
}

/** Programs that are always HIGH. */
export const DANGERS: ProgramRules = {
  ...named('rm unlink rmdir rimraf', remove),
  ...named(
    'shred wipe srm trash trash-put trash-empty del-cli trash-cli del erase rd deltree sdelete bleachbit',
    always('HIGH', 'file.delete', 'deletes files'),
  ),
  ...named('truncate fallocate', always('HIGH', 'file.delete', 'empties or reshapes files')),
  chmod,
  ...named(
    'chown chgrp chattr setfacl chflags chcon setfattr xattr icacls cacls takeown attrib setcap restorecon semanage setsebool chsh chfn usermod install_name_tool codesign csrutil spctl',
    always('HIGH', 'file.mode', 'changes rights or ownership'),
  ),
  ...named(
    'sudo doas pkexec gosu su-exec gsudo',
    wrapper({
      harmless:
        '-abEeHiKklnPSsvVAB -u: -g: -h: -p: -C: -r: -t: -T: -U: -D: -R: --user: --group: --chdir: --host: --preserve-env? --login --shell --non-interactive --stdin --set-home',
      assigns: true,
      besides: { risk: 'HIGH', code: 'escalate', text: 'runs with the rights of somebody else' },
    }),
  ),
  ...named(
    'su runuser sg newgrp setpriv capsh machinectl sudoedit visudo run0 runas kdesu gksudo please calife super dzdo',
    always('HIGH', 'escalate', 'runs with the rights of somebody else'),
  ),
  ...named(
    'unshare nsenter chroot bwrap proot fakechroot systemd-nspawn lxc-attach lxc-execute schroot pivot_root setns runc crun ctr nerdctl',
    always('HIGH', 'escalate', 'runs in other namespaces or another root'),
  ),
  ...named(
    'passwd chpasswd useradd userdel groupadd groupdel groupmod adduser deluser addgroup delgroup gpasswd vipw vigr pwconv dscl dseditgroup sysadminctl pw',
    always('HIGH', 'system.users', 'changes accounts'),
  ),
  ...named(
    'mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.f2fs mkfs.exfat mke2fs mkswap mkdosfs newfs newfs_apfs fdisk sfdisk cfdisk gdisk sgdisk parted partprobe wipefs blkdiscard hdparm sdparm nvme mdadm lvremove vgremove pvremove lvreduce lvresize pvcreate vgcreate lvcreate zpool zfs btrfs cryptsetup losetup dmsetup badblocks tune2fs resize2fs e2fsck fsck fsck.ext4 xfs_repair debugfs format diskpart diskutil hdiutil mount umount swapoff swapon mkinitcpio update-grub grub-install efibootmgr bcdedit bootcfg vssadmin wbadmin cipher chkdsk fsutil manage-bde',
    always('HIGH', 'disk', 'changes disks or file systems'),
  ),
  dd: call => {
    call.say('disk', 'HIGH', 'dd writes bytes to where of= says')
    for (const arg of call.args) call.secret({ ...arg, value: arg.value.replace(/^(if|of)=/, '') })
  },
  ...named('kill pkill killall fuser kill-port fkill fkill-cli', kill),
  ...named(
    'killall5 skill snice xkill taskkill tskill renice',
    always('HIGH', 'proc.kill', "ends processes, which may be others'"),
  ),
  ...named(
    'reboot shutdown halt poweroff init telinit rtcwake pm-suspend suspend logoff',
    always('HIGH', 'system.power', 'stops the machine or the session'),
  ),
  ...named(
    'at batch atrm anacron schtasks launchctl update-rc.d chkconfig rc-update insserv sc sc.exe initctl',
    always('HIGH', 'persist', 'makes programs run by themselves'),
  ),
  ...named(
    'insmod rmmod modprobe depmod kexec sysctl kldload kldunload kextload kextunload bpftool bpftrace auditctl aa-teardown aa-disable aa-complain setenforce apparmor_parser',
    always('HIGH', 'system.kernel', 'changes the kernel or its guards'),
  ),
  ...named(
    'iptables ip6tables nft ufw firewall-cmd ipset ebtables arptables pfctl netsh route tc brctl ifconfig ifup ifdown nmcli networksetup resolvectl systemd-resolve scutil ip6 iwconfig wg wg-quick openvpn hostnamectl timedatectl localectl loginctl',
    always('HIGH', 'system.network', 'changes the network or the machine'),
  ),
  ...named(
    'update-alternatives alternatives dpkg-divert ldconfig dpkg-reconfigure update-ca-certificates trust certutil security pmset defaults tccutil nvram osascript automator shortcuts dconf gsettings gconftool-2 xdg-mime xdg-settings update-desktop-database reg regedit regsvr32 rundll32 mshta wscript cscript certreq bitsadmin msiexec wmic powercfg gpupdate dism sfc installutil msbuild forfiles pcalua',
    always('HIGH', 'system.change', 'changes the system or runs code in a roundabout way'),
  ),
  ...named(
    'powershell powershell.exe pwsh pwsh.exe cmd cmd.exe command.com iex invoke-expression remove-item ri start-process set-executionpolicy stop-process stop-computer restart-computer clear-content clear-disk format-volume invoke-webrequest iwr invoke-restmethod irm new-service net net1 setx systemsetup tmutil wsl wevtutil',
    always('HIGH', 'other-os', "runs another system's shell"),
  ),
  ...named(
    'sponge patchelf ex ed vi vim nvim view rvim vimdiff nano pico emacs emacsclient joe micro mcedit kak hx helix',
    always('HIGH', 'editor', 'edits files or runs commands from inside an editor; use the Edit tool'),
  ),
  ...named('bc dc', call => {
    const [name, ...words] = call.feed.upstream?.at(-1)?.words ?? []
    const echoed = name && /^(echo|printf)$/.test(name.value) ? words : undefined
    const texts = [...call.args, ...(call.feed.text ? [call.feed.text] : []), ...(echoed ?? [])]
    // Their files are programs, and `!` in those of dc runs a command. Those of bc compute and print, whatever they are fed.
    const files = call.args.some(arg => /^-f|^--file/.test(arg.value) || !isFlag(arg)) && !isExpression(call.args)
    const plain = texts.every(arg => SUM.test(arg.value.replaceAll('\\n', ' ')) && arg.known)
    const fed = call.feed.file !== undefined || (call.feed.piped && echoed === undefined)
    const isFedSum = call.name === 'bc' && call.feed.piped && call.args.every(({ value }) => /^-[lqs]+$/.test(value))
    if ((plain && !files && !fed) || isFedSum) return call.say('code.plain', 'MEDIUM', `${call.name} computes`)
    call.say('interpreter.odd', 'HIGH', `${call.name} can run commands from its input`)
  }),
  ...named('m4 pic groff troff nroff eqn tbl refer soelim gnuplot octave maxima gp gap genius', call => {
    const loose = call.feed.text !== undefined || call.feed.piped || call.args.length > 0
    call.say('interpreter.odd', loose ? 'HIGH' : 'MEDIUM', `${call.name} can run commands from its input`)
  }),
  ...named('gdb lldb', debug),
  ...named(
    'ptrace reptyr dtrace gcore radare2 r2 frida rizin',
    always('HIGH', 'debugger', 'runs and changes programs from the inside'),
  ),
  ...named('expect autoexpect tclsh wish slsh scsh', always('HIGH', 'interpreter.odd', 'runs commands of a script')),
  ...named('history fc', call => {
    if (call.args.some(arg => /^-[cdwas]/.test(arg.value)) || call.name === 'fc')
      call.say('history', 'HIGH', 'it changes the history or runs from it')
    else call.say('path.history', 'MEDIUM', 'it shows what a person typed before')
  }),
  ...named('enable', always('HIGH', 'shell.extend', 'loads code into the shell')),
  ...named('bind complete compopt', always('MEDIUM', 'shell.extend', 'changes how the shell reads')),
  ...named(
    'logger wall write mesg sendmail mail mailx mutt s-nail msmtp swaks ssmtp pbcopy xclip xsel wl-copy clip notify-send',
    call => {
      const fed = call.feed.file !== undefined || call.feed.piped || call.args.some(arg => arg.substituted)
      call.say('net.message', fed ? 'HIGH' : 'MEDIUM', `${call.name} hands text to others`)
    },
  ),
}

const SUM = /^[\w\s.+*/^%()=;,<>-]*$/

/** `dc -e '1 1 + p'`: the only word is the expression. */
function isExpression(args: readonly Arg[]): boolean {
  return args.length === 2 && /^(-e|--expression)$/.test(args[0]?.value ?? '')
}

/** Removing files is HIGH. A sandbox holds it where nothing is lost that a person made. */
function remove(call: ProgramCall): undefined {
  const { name, args, scope, fence } = call
  const flags = args.filter(isFlag)
  const deep = name === 'rimraf' || flags.some(({ value }) => /^-\w*[rR]|^--rec/.test(value))
  const places = [scope.cwd, ...scope.folders].filter(cwd => cwd !== undefined)
  // A folder that rmdir removes is empty.
  const isHeldPath = ({ known, value: path, glob }: Arg) =>
    known &&
    // If the folder could not be made, what stands behind its name would be at the top of the machine.
    (!path.startsWith('/tmp/mktemp.') || (scope.made.has(path) && !glob)) &&
    places.every(cwd =>
      name === 'rmdir' && !glob
        ? isHeldWrite(path, { cwd, fence })
        : isHeldRemoval({ path, deep }, { cwd, fence }) || isMadeAgain(path, { cwd, fence }),
    )
  const isHeldWord = (arg: Arg) => isHeldPath(arg) || (!deep && !arg.glob && wasMadeHere(arg, call))
  const isHeld =
    scope.cwd !== undefined &&
    flags.every(({ value }) => /^(-[rRfvdI]+|--(recursive|force|verbose|dir)|--)$/.test(value)) &&
    findOperands(args).length > 0 &&
    findOperands(args).every(isHeldWord)
  const isOwn =
    isHeld &&
    findOperands(args).every(
      arg =>
        (scope.made.has(arg.value) && !arg.glob) ||
        (!deep && !arg.glob && (isScratchFile(arg.value, fence) || wasMadeHere(arg, call))) ||
        places.every(cwd => isMadeAgain(arg.value, { cwd, fence })),
    )
  call[isOwn ? 'settle' : isHeld ? 'hold' : 'say']('file.delete', 'HIGH', `${name} deletes files`)
  for (const arg of args) if (arg.known && !isFlag(arg)) call.secret(arg)
}

/** Whether a file of the project is there only because the same command has spelled it out. */
function wasMadeHere(arg: Arg, { scope, fence }: ProgramCall): boolean {
  if (!arg.known || scope.cwd === undefined || findSpelled(arg, { scope }) === undefined) return false
  const place = locatePath(arg.value, scope.cwd, fence)
  return place.where === 'inside' && fence.look !== undefined && fence.look(place.path) === undefined
}

/** Ending processes is HIGH. In a sandbox there are only those of the agent; ending all of them would end the agent too. */
function kill(call: ProgramCall): undefined {
  const { name, args } = call
  const isWide =
    name === 'kill'
      ? args.some(({ value, text }, at) => (at > 0 && value === '-1') || /^[01]$/.test(value) || text.includes('PPID'))
      : args.some(({ value }) =>
          // An agent is one of these itself.
          /^(-[a-zA-Z]*[uUGv]|--(uid|euid|user|group|inverse)(=.*)?|[.*^$]*|\^?(node|bash|sh|bwrap)\$?)$/.test(value),
        )
  // `%1`, `$!` and `$pid` after `pid=$!` are jobs of this very shell.
  const isJob = ({ known, value, text }: Arg) =>
    known
      ? /^%[\d%+-]?$/.test(value)
      : text === '$!' || text === '"$!"' || call.scope.jobs.has(text.replace(/["{}$]/g, ''))
  if (
    name === 'kill' &&
    args.some(isJob) &&
    args.every(arg => isJob(arg) || (arg.known && /^(-[A-Z0-9]+|-s|--)$|^(SIG)?(TERM|INT|KILL|HUP)$/.test(arg.value)))
  )
    return call.say('proc.own', 'MEDIUM', 'kill ends a job of its own shell')
  // Other signals make a program open its debugger or read its settings again, and databases are no servers that an agent starts.
  const isOdd = args.some(({ value, text }) => {
    const [, signal] = /^-(?:s|SIG)?([A-Z]+\d?|\d{1,2})$/.exec(value) ?? []
    const port = /^(kill-port|fkill|fuser)$/.test(name) && /^\d/.test(value) ? `:${value}` : text
    if (name !== 'kill' && SERVERS.test(value)) return true
    if (/^(killall|fuser|kill-port|fkill)$/.test(name) && value.includes(HOLE)) return true
    return (signal !== undefined && !ENDS.test(signal)) || /^(SIG)?USR[12]$/.test(value) || DATABASE_PORT.test(port)
  })
  call[isWide || isOdd ? 'say' : 'hold']('proc.kill', 'HIGH', `${name} ends processes, which may be others'`)
}

/** Ports at which databases, queues and the machine's own services listen. */
const DATABASE_PORT =
  /[:=](22|53|80|443|1433|1521|2375|3306|5432|5672|6379|9042|9200|11211|27017)\b|\b(22|53|80|443|1433|1521|2375|3306|5432|5672|6379|9042|9200|11211|27017)\/tcp/
/** Databases, queues and the machine's own services by the names of their programs. */
const SERVERS =
  /(^|[^\w])(postgres\w*|postmaster|mysqld?|mariadbd?|mongo[ds]?|redis(-server)?|valkey\w*|memcached|rabbitmq\w*|beam\.smp|kafka|zookeeper|elasticsearch|opensearch|clickhouse\w*|cassandra|influxd|etcd|consul|vault|minio|nginx|apache2|httpd|caddy|haproxy|dockerd|containerd|sshd|systemd\w*|cron|cupsd|named)(?![\w-])/i
const ENDS = /^(TERM|INT|KILL|HUP|QUIT|STOP|CONT|0|1|2|3|9|15|18|19)$/

/** Changing rights is HIGH. A sandbox holds it for files of the project, if it gives nobody else the right to write or to be somebody else. */
function chmod(call: ProgramCall): undefined {
  const [mode, ...files] = call.args.filter(
    arg => !/^-[Rvcf]+$|^--(recursive|verbose|changes|quiet|silent)$/.test(arg.value),
  )
  const deep = findFlag(call.args, ['-R', '--recursive']) !== undefined
  const { boundary } = call.fence
  const isHeld =
    mode?.known === true &&
    /^([ugoa]*\+[rxX]+|[go]+-[rwxX]+|u\+[rwxX]+|u=rw?[xX]?|0?[4-7][0145][0145])$/.test(mode.value) &&
    files.length > 0 &&
    files.every(file => !isFlag(file) && staysInSandbox(file, call) && !/^\.?\/*$/.test(file.value)) &&
    // Folders that people write may hold files that others run.
    (!deep ||
      files.every(file => isHeldRemoval({ path: file.value, deep: true }, { cwd: boundary, fence: call.fence })))
  const isOwn = isHeld && !deep && files.every(file => isOwnFile(file, call))
  call[isOwn ? 'settle' : isHeld ? 'hold' : 'say']('file.mode', 'HIGH', 'chmod changes rights or ownership')
  for (const arg of files) if (arg.known) call.secret(arg)
}

/** What a debugger may be told without a person: to run the program of the project and to show its state. */
const SHOWS_STATE =
  /^(bt|backtrace|where|run|r|start|continue|c|next|n|step|s|finish|up|down|quit|q|list|l|frame|f|disassemble|info|print|p|ptype|whatis|x|thread|break|b|tbreak|watch|display|set (pagination|confirm|args|print|width|height|logging off)|help)\b[^|!`$;]*$/

/** gdb and lldb: HIGH, because they run and change programs from the inside; MEDIUM for a batch that runs the project's own and shows its state. */
function debug(call: ProgramCall): undefined {
  const { name, args } = call
  const texts = args.filter((_, at) =>
    /^(-ex|--ex|-eval-command|--eval-command|-o|--one-line)$/.test(args[at - 1]?.value ?? ''),
  )
  const dash = args.findIndex(arg => /^--?args$/.test(arg.value))
  const own = dash < 0 ? args : args.slice(0, dash)
  const flags = own.filter(isFlag)
  const isBatch =
    flags.some(arg => /^--?(batch|b)$/.test(arg.value)) &&
    flags.every(arg =>
      /^(--?(batch|ex|eval-command|q|quiet|nx|nh|n|return-child-result|b)|-o|--one-line|--)$/.test(arg.value),
    )
  const isPlain = texts.every(
    text => text.known && SHOWS_STATE.test(text.value) && !/\b(call|shell|python|system)\b|[=(]/.test(text.value),
  )
  if (!isBatch || !isPlain) return call.say('debugger', 'HIGH', `${name} runs and changes programs from the inside`)
  const [program] = [
    ...own.filter(arg => !isFlag(arg) && !texts.includes(arg)),
    ...(dash < 0 ? [] : args.slice(dash + 1)),
  ]
  call.say('script.run', 'MEDIUM', `${name} runs a program of the project and shows its state`)
  if (program) judgeScriptFile(call, program)
}
