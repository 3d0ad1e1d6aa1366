import { createHash } from 'node:crypto'

export interface UnitOptions {
  /** The program and its arguments, up to the subcommand. */
  command: readonly string[]
  /** Variables of the daemon. */
  env: Record<string, string>
  /** Who the daemon runs as; only for a unit of the whole system. */
  user?: string | undefined
  /** The name of the unit that tells a person. */
  alert: string
  /** The version of systemd. */
  version: number
  /** Whether bubblewrap gets its rights from its file: the kernel then must be allowed to give them. */
  setuidSandbox: boolean
}

/**
 * The unit of the daemon. It is started again whenever it ends, later each time where systemd knows how, and given up after ten
 * deaths in ten minutes, as the daemon's own parent does; a second unit then tells a person. Exit codes 2 and 5 mean that
 * somebody has to mend something first. Only the daemon itself is signalled (`KillMode=process`): it ends its agents, and terminals
 * in tmux are meant to survive it.
 */
export function daemonUnit(options: UnitOptions): string {
  const { command, env, user, alert, version } = options
  return stamped(`[Unit]
Description=PerpetualCC, which keeps coding agents at work
Documentation=man:systemd.service(5)
StartLimitIntervalSec=600
StartLimitBurst=10
OnFailure=${alert}
${user === undefined ? '' : 'Wants=network-online.target\nAfter=network-online.target\n'}
[Service]
Type=notify
NotifyAccess=all
ExecStart=${[...command, 'daemon', 'run'].map(quoteWord).join(' ')}
${Object.entries(env)
  .map(([name, value]) => `Environment=${quoteValue(`${name}=${value}`)}\n`)
  .join('')}${user === undefined ? '' : `User=${user}\n`}Restart=always
${version >= BACK_OFF_SINCE ? 'RestartSec=2\nRestartSteps=6\nRestartMaxDelaySec=60' : 'RestartSec=5'}
RestartPreventExitStatus=2 5
WatchdogSec=60
TimeoutStartSec=10min
TimeoutStopSec=60
TimeoutAbortSec=15
KillMode=process
OOMPolicy=continue
${hardening(options).join('\n')}

[Install]
WantedBy=${user === undefined ? 'default.target' : 'multi-user.target'}
`)
}

/** `RestartSteps=` came with this version; an older one warns of it. */
const BACK_OFF_SINCE = 254

/**
 * What can be taken away without taking it from agents, which run compilers, browsers and containers. Whatever covers a part of
 * /proc is left out, because the kernel then refuses bubblewrap a /proc of its own; so are namespaces and writable code in memory.
 */
function hardening({ user, setuidSandbox }: UnitOptions): string[] {
  const always = [
    ...(setuidSandbox ? [] : ['NoNewPrivileges=yes']),
    'LockPersonality=yes',
    'RestrictRealtime=yes',
    'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
    'KeyringMode=private',
  ]
  if (user === undefined) return always
  const ofSystem = ['ProtectSystem=full', 'ProtectControlGroups=yes', 'ProtectHostname=yes', 'RemoveIPC=yes']
  const isRoot = user === 'root'
  return [
    ...always,
    ...ofSystem,
    ...(setuidSandbox || isRoot ? [] : ['CapabilityBoundingSet=', 'AmbientCapabilities=']),
  ]
}

/** The unit that systemd starts when it has given up: it sends one message on every channel that is set up. */
export function alertUnit({ command, env, user }: UnitOptions): string {
  return stamped(`[Unit]
Description=Tells you that PerpetualCC could not be kept running

[Service]
Type=oneshot
ExecStart=${[...command, 'service', 'alert'].map(quoteWord).join(' ')}
${Object.entries(env)
  .map(([name, value]) => `Environment=${quoteValue(`${name}=${value}`)}\n`)
  .join('')}${user === undefined ? '' : `User=${user}\n`}TimeoutStartSec=2min
`)
}

/** A word of a command: systemd expands `%` and `$` everywhere, and backslashes in quotes. */
function quoteWord(word: string): string {
  return quoteValue(word).replaceAll('$', '$$$$')
}

function quoteValue(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('%', '%%')}"`
}

export interface PlistOptions {
  label: string
  command: readonly string[]
  env: Record<string, string>
  /** The file for what it prints. */
  output: string
}

/** The launchd agent. Nobody has tried it on a Mac yet. */
export function launchdPlist({ label, command, env, output }: PlistOptions): string {
  const words = [...command, 'daemon', 'run'].map(word => `    <string>${escapeXml(word)}</string>`)
  const variables = Object.entries(env).map(
    ([name, value]) => `    <key>${escapeXml(name)}</key>\n    <string>${escapeXml(value)}</string>`,
  )
  const body = `<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${escapeXml(label)}</string>
  <key>ProgramArguments</key>
  <array>
${words.join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${variables.join('\n')}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>ProcessType</key>
  <string>Background</string>
  <key>StandardErrorPath</key>
  <string>${escapeXml(output)}</string>
</dict>
</plist>
`
  const head =
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n'
  return `${head}<!-- ${MARK}${hashOf(body)} -->\n${body}`
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const MARK = 'Written by pcc service install; sha256 of the rest: '

function stamped(body: string): string {
  return `# ${MARK}${hashOf(body)}\n# To change something, use: systemctl edit (pcc leaves drop-ins alone)\n${body}`
}

function hashOf(body: string): string {
  return createHash('sha256').update(body).digest('hex')
}

/** Whether a file is as pcc wrote it, was edited since, or is somebody else's. */
export function whoseUnit(text: string): 'ours' | 'edited' | 'foreign' {
  const stamp = new RegExp(`${MARK}([0-9a-f]{64})`).exec(text)?.[1]
  if (stamp === undefined) return 'foreign'
  const start = text.startsWith('#') ? text.indexOf('[Unit]') : text.indexOf('<plist')
  return hashOf(start < 0 ? text : text.slice(start)) === stamp ? 'ours' : 'edited'
}
