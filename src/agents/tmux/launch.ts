import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { packagePath } from '../../base/program.ts'
import { quoteForShell } from '../../base/words.ts'
import type { OpenSession } from '../../domain/session.ts'
import { notLoggedIn } from '../../domain/vendors.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import { claudeManifest } from '../manifests/claude.ts'
import { OwnTools } from '../own-tools.ts'
import { createToolEndpoint, findToolEndpoint, type ToolEndpoint, toolServerCommand } from '../own-tools-server.ts'
import type { TmuxSessionFolder } from './session-folder.ts'

export interface LaunchOptions {
  executable: string
  open: OpenSession
  vendorId: string
  settings: string
  /** The file that names our own server. */
  mcpConfig?: string | undefined
  appendPrompt: string
  env: Record<string, string>
}

/**
 * The command of the window: a script that nobody else can read and that is gone once it runs. Keys are in it, and would be seen
 * by everybody on the machine where they stood in a command line.
 */
export function startCommand(seat: TmuxSessionFolder, launch: LaunchOptions): string[] {
  // What no shell can name (an exported function, say) is left out: it would end the script.
  const named = Object.entries(launch.env).filter(([name]) => /^[A-Za-z_]\w*$/.test(name))
  const exported = named.map(([name, value]) => `export ${name}=${quoted(value)}`)
  const command = [launch.executable, ...argumentsOf(launch)].map(quoted).join(' ')
  const script = seat.write(
    'start.sh',
    [
      'rm -f "$0"',
      `exec 2>${quoted(join(seat.path, 'stderr'))}`,
      // Elsewhere it must not begin.
      `cd -- ${quoted(launch.open.cwd)} || exit 1`,
      ...exported,
      `exec ${command}`,
      '',
    ].join('\n'),
  )
  // An environment of its own: what tmux puts into that of its windows would let the agent type into its own terminal.
  return ['/usr/bin/env', '-i', '/bin/sh', script]
}

function argumentsOf({ open, vendorId, settings, mcpConfig, appendPrompt }: LaunchOptions): string[] {
  const { resume, model, tools, disallowedTools, strictMcp } = open
  return [
    ...['--settings', settings, '--permission-mode', 'default', `--setting-sources=${sourcesFor(open).join(',')}`],
    ...['--append-system-prompt', appendPrompt],
    ...(resume ? ['--resume', resume.vendorId] : ['--session-id', vendorId]),
    ...(resume?.fork ? ['--fork-session', '--session-id', vendorId] : []),
    ...(model === undefined ? [] : ['--model', model]),
    ...(tools ? ['--tools', tools.join(',')] : []),
    ...(disallowedTools && disallowedTools.length > 0 ? ['--disallowedTools', disallowedTools.join(',')] : []),
    ...(mcpConfig === undefined ? [] : ['--mcp-config', mcpConfig]),
    ...(strictMcp ? ['--strict-mcp-config'] : []),
  ]
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Works from src and from dist alike. */
const BIN = packagePath('bin/pcc.js')

/** Events that decide about a call: whatever goes wrong with their hook, the call does not run. */
const GATES = ['PreToolUse', 'PermissionRequest', 'ConfigChange'] as const
/** Events that tell how far it is. */
const NEWS = ['SessionStart', 'UserPromptSubmit', 'PostToolBatch', 'Stop', 'StopFailure', 'PreCompact', 'PostCompact']

/** Longer than the ask's own deadline, so that our reason reaches the agent and not the vendor's. */
const MARGIN_S = 30
const NEWS_S = 30

interface HookSettings {
  /** Folder of the session. */
  seat: string
  askDeadlineMs: number
  /** Variables that count over those of every settings file. */
  env: Record<string, string>
}

/**
 * The settings of the command line, which win over those of every file. One hook without a matcher sees every call, in every
 * permission mode. No hook of a settings file is switched off by a flag here, because ours would be too: where the project may
 * bring one that changes calls, its settings are not loaded at all (`sourcesFor`).
 */
export function hookSettings({ seat, askDeadlineMs, env }: HookSettings): Record<string, unknown> {
  const words = [process.execPath, BIN, 'hook', 'claude', 'StatusLine', '--seat', seat]
  const hook = (event: string, more: Record<string, unknown>) => [
    {
      hooks: [
        { type: 'command', command: process.execPath, args: [BIN, 'hook', 'claude', event, '--seat', seat], ...more },
      ],
    },
  ]
  const gates = GATES.map(event => [
    event,
    hook(event, { timeout: Math.ceil(askDeadlineMs / 1000) + MARGIN_S, onFailure: 'block' }),
  ])
  const news = NEWS.map(event => [event, hook(event, { timeout: NEWS_S })])
  return {
    disableAllHooks: false,
    disableSkillShellExecution: true,
    env,
    // It tells the cost, which nothing else does before the end; and whoever looks sees who judges.
    statusLine: { type: 'command', command: words.map(quoteForShell).join(' ') },
    hooks: Object.fromEntries([...gates, ...news]),
  }
}

/** Which settings files are loaded. */
function sourcesFor({ settingSources, hooksOff }: OpenSession): OpenSession['settingSources'] {
  return hooksOff ? settingSources.filter(source => source === 'user') : settingSources
}

type Env = Record<string, string>

/** What Claude Code is told about where its own settings are, and that it need not ask about trust or a first start. */
export interface ConfigLayer {
  /** The folder that it works with: there are its state files. */
  directory: string
  env: Env
}

/** Any of them says who pays, without a stored login. */
const CREDENTIALS = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_USE_FOUNDRY',
]
/** These are of one process or would tell another's; the state file itself is one of them. */
const NOT_SHARED = new Set([
  '.claude.json',
  '.credentials.json',
  'sessions',
  'backups',
  'ide',
  'session-env',
  'shell-snapshots',
])
/** Conversations are kept where the person's own are: they can be resumed by every host, and their cost is counted. */
const MADE = ['projects']

/**
 * An interactive Claude Code asks three things before it works: it introduces itself, asks whether the folder is trusted, and
 * whether a key of the environment may be used. Whether the project is trusted was settled before (`pcc trust`), by what is
 * loaded at all. The person's own files are not written to:
 *
 * - With a key or token in the environment it gets a folder of the session's own, in which these questions are answered and
 *   everything else of the person's folder is linked.
 * - With a stored login it works in the person's own folder, because a login cannot be linked (Claude Code refuses to follow) and a
 *   copy would part from it when it is renewed. Who has logged in has answered the first question; the second is answered by a
 *   variable.
 */
export function prepareConfig(seat: TmuxSessionFolder, { env, cwd }: { env: Env; cwd: string }): ConfigLayer {
  const own = env['CLAUDE_CONFIG_DIR'] ?? join(env['HOME'] ?? homedir(), '.claude')
  if (!hasCredential(env)) {
    // It would ask a person to log in, and wait.
    if (readOwn(own, env)['hasCompletedOnboarding'] !== true) throw notLoggedIn(claudeManifest)
    return { directory: own, env: { CLAUDE_CODE_SANDBOXED: '1' } }
  }
  const directory = join(seat.path, 'config')
  mkdirSync(directory, { mode: 0o700 })
  for (const name of MADE) mkdirSync(join(own, name), { recursive: true, mode: 0o700 })
  for (const name of readdirSync(own)) {
    if (!NOT_SHARED.has(name)) symlinkSync(join(own, name), join(directory, name))
  }
  seat.write('config/.claude.json', JSON.stringify(answered(readOwn(own, env), { env, cwd })))
  return { directory, env: { CLAUDE_CONFIG_DIR: directory } }
}

function hasCredential(env: Env): boolean {
  return CREDENTIALS.some(name => Boolean(env[name]))
}

/** What the person has told Claude Code; nothing where it never ran, or where the file cannot be read. */
function readOwn(own: string, env: Env): Record<string, unknown> {
  const file = env['CLAUDE_CONFIG_DIR'] ? join(own, '.claude.json') : join(env['HOME'] ?? homedir(), '.claude.json')
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  } catch {
    return {}
  }
}

function answered(own: Record<string, unknown>, { env, cwd }: { env: Env; cwd: string }): Record<string, unknown> {
  const key = env['ANTHROPIC_API_KEY']
  const projects = own['projects'] as Record<string, object> | undefined
  return {
    ...own,
    hasCompletedOnboarding: true,
    ...(key && { customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] } }),
    projects: { ...projects, [cwd]: { ...projects?.[cwd], hasTrustDialogAccepted: true } },
  }
}

/** How Claude Code calls a tool of a server. */
const FORM = 'mcp__{server}__{tool}'

/** Tools of ours in a window: where they are called outlives the daemon, as the window does. */
export interface WindowTools {
  own: OwnTools
  place: ToolEndpoint
}

/** Those of a new window. Their server bears a name that no earlier one had. */
export function createTools({ ownTools = [] }: OpenSession, { path }: TmuxSessionFolder): WindowTools | undefined {
  if (ownTools.length === 0) return undefined
  const own = new OwnTools(ownTools, FORM)
  return { own, place: createToolEndpoint(path, own.server) }
}

/** Those of a window that an earlier daemon left. */
export function restoreTools({ ownTools = [] }: OpenSession, { path }: TmuxSessionFolder): WindowTools | undefined {
  const place = findToolEndpoint(path)
  return place && { own: new OwnTools(ownTools, FORM, place.server), place }
}

/** What Claude Code is told of their server: waited for before the first prompt, and patient with a person. */
export function mcpConfig({ place }: WindowTools, { path }: TmuxSessionFolder): Record<string, unknown> {
  const server = { type: 'stdio', ...toolServerCommand(path), alwaysLoad: true, timeout: 24 * 3_600_000 }
  return { mcpServers: { [place.server]: server } }
}

/** A person who has the terminal is asked there, and by no tool; nothing is put off under their hands. */
export function withTerminal(asks: CheckedAsks, takenOver: () => boolean): CheckedAsks {
  const declined = 'A person has the terminal. Ask them with your own words, at the end of your turn.'
  return {
    ...asks,
    async question(question, signal) {
      const reply = takenOver() ? { declined, by: 'driver' } : await asks.question(question, signal)
      return 'park' in reply && takenOver() ? { declined, by: 'driver' } : reply
    },
    async permission(request, signal) {
      const reply = await asks.permission(request, signal)
      if (!('park' in reply) || !takenOver()) return reply
      return { verdict: 'deny', risk: 'HIGH', reason: declined, confidence: 1, by: 'driver' }
    },
  }
}
