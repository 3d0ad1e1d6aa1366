import type { Rules } from '../../call.ts'
import { isFlag } from '../../words/arg.ts'
import { operandsOf } from '../../words/flags.ts'
import { named, verbs } from '../common/build.ts'

/** Services, schedules, terminals and windows. */
export const SYSTEM: Rules = {
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
    call.args.some(arg => /^--(vacuum|rotate|flush|update-catalog|setup-keys|sync|relinquish)/.test(arg.value))
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
    const line = operandsOf(call.args)
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
    'netstat ss arp iostat sar lsns lsipc findmnt blkid smartctl sensors acpi upower nvidia-smi rocm-smi system_profiler ioreg',
    call => call.say('system.read', 'MEDIUM', `${call.name} looks at the machine`),
  ),
  ...named('tmux screen zellij byobu dtach abduco', call => {
    const sends = call.args.some(arg =>
      /^(send-keys|send|new-session|new|new-window|neww|respawn-pane|split-window|run-shell|run|if-shell|pipe-pane|source-file|kill-.*|-X|-dm|-dmS|-d|set-hook|-c|-A)$/.test(
        arg.value,
      ),
    )
    call.say('terminal', sends ? 'HIGH' : 'MEDIUM', `${call.name} runs commands in another terminal`)
  }),
  ...named('xdotool ydotool wtype xte cliclick autohotkey', call =>
    call.say('terminal', 'HIGH', `${call.name} types for the person`),
  ),
  ...named(
    'open xdg-open start explorer explorer.exe sensible-browser x-www-browser firefox chromium google-chrome chrome',
    call =>
      call.say(
        'open',
        call.args.some(arg => isFlag(arg) && /remote-debugging|load-extension|no-sandbox/.test(arg.value))
          ? 'HIGH'
          : 'MEDIUM',
        `${call.name} opens a program`,
      ),
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
