import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { brandLine, type Marker } from '../../base/process/marker.ts'
import { packagePath } from '../../base/program.ts'
import type { Sandbox } from '../../base/sandbox/sandbox.ts'
import type { SandboxedCommand } from '../../base/sandbox/visible-paths.ts'
import { quoteForShell } from '../../base/words.ts'
import { claudeAgent, NEVER_IMPORTED } from '../../domain/agents/claude.ts'
import type { OpenSession } from '../../domain/session.ts'
import { notLoggedIn } from '../../domain/vendors.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import { OwnTools } from '../own-tools.ts'
import {
  createToolEndpoint,
  findToolEndpoint,
  ownProgramFiles,
  type SessionEndpoint,
  type ToolEndpoint,
  toolServerCommand,
} from '../own-tools-server.ts'
import { REFUSALS, type TmuxSessionFolder } from './session-folder.ts'

export interface LaunchOptions {
  executable: string
  /** The sandbox around the agent, if there is one. */
  sandbox?: Sandbox | undefined
  /** What a sandbox has to show beside the folder of the session. */
  shows?: string[] | undefined
  /** A file that the agent must not create, and could: it ends if it does, also while no daemon runs. */
  plantable?: string | undefined
  open: OpenSession
  vendorId: string
  settings: string
  /** The file that configures our own server. */
  mcpConfig?: string | undefined
  appendPrompt: string
  env: Record<string, string>
  marker: Marker
}

/**
 * The command of the window: a script that nobody else can read and that removes itself when it runs. It holds keys, which everybody
 * on the machine could see if they were in a command line.
 */
export function startCommand(folder: TmuxSessionFolder, launch: LaunchOptions): string[] {
  const { command, args, env } = inSandbox(folder, launch)
  // Variables with names that no shell accepts (for example an exported function) are left out: they would end the script.
  const named = Object.entries(env).filter(([name]) => /^[A-Za-z_]\w*$/.test(name))
  const exported = named.map(([name, value = '']) => `export ${name}=${quote(value)}`)
  const script = folder.write(
    'start.sh',
    [
      'rm -f "$0"',
      `exec 2>${quote(join(folder.path, 'stderr'))}`,
      ...(process.platform === 'linux' ? [brandLine(launch.marker)] : []),
      // The agent must not start in another folder.
      `cd -- ${quote(launch.open.cwd)} || exit 1`,
      ...exported,
      ...(launch.sandbox && launch.plantable !== undefined ? [guardLine(launch.plantable)] : []),
      `exec ${[command, ...args].map(quote).join(' ')}`,
      '',
    ].join('\n'),
  )
  // A clean environment: the variables that tmux sets in its windows would let the agent type into its own terminal.
  return ['/usr/bin/env', '-i', '/bin/sh', script]
}

/** A loop outside of the sandbox, beside the agent, which gets this shell's process. It ends with the agent. */
function guardLine(file: string): string {
  const found = `[ -e ${quote(file)} ] || [ -L ${quote(file)} ]`
  return `(while kill -0 $$ 2>/dev/null; do if ${found}; then rm -rf -- ${quote(file)}; kill -KILL $$; fi; sleep 1; done) </dev/null >/dev/null 2>&1 &`
}

/** The agent's command, in its sandbox: it sees the folder of the session and our program, for its hooks. */
function inSandbox(
  { path }: TmuxSessionFolder,
  launch: LaunchOptions,
): Pick<SandboxedCommand, 'command' | 'args' | 'env'> {
  const { sandbox, executable, open, env } = launch
  const start = { command: executable, args: argumentsOf(launch), env }
  if (!sandbox) return start
  const paths = { shows: [path, ...(launch.shows ?? []), ...ownProgramFiles()], writes: [join(path, REFUSALS)] }
  return sandbox.wrap({ ...start, cwd: open.cwd, ...paths }, { pidNamespace: true })
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

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Works from src and from dist alike. */
const BIN = packagePath('bin/pcc.js')

/** Events that decide about a call: if their hook fails in any way, the call does not run. */
const DECIDING_EVENTS = ['PreToolUse', 'PermissionRequest', 'ConfigChange'] as const
/** Events that report progress. */
const PROGRESS_EVENTS = [
  'SessionStart',
  'UserPromptSubmit',
  'PostToolBatch',
  'Stop',
  'StopFailure',
  'PreCompact',
  'PostCompact',
]

/** The hook's timeout is longer than the ask's own deadline, so that our reason reaches the agent and not the vendor's. */
const MARGIN_S = 30
const PROGRESS_S = 30

interface HookSettings {
  /** Folder of the session. */
  folder: string
  askDeadlineMs: number
  /** Variables that override those of every settings file. */
  env: Record<string, string>
}

/**
 * The settings of the command line, which win over those of every file. One hook without a matcher sees every call, in every
 * permission mode. No flag here switches off the hooks of settings files, because it would switch off ours too: if the project
 * may have a hook that changes calls, its settings are not loaded at all (`sourcesFor`).
 */
export function hookSettings({ folder, askDeadlineMs, env }: HookSettings): Record<string, unknown> {
  const statusCommand = [process.execPath, BIN, 'hook', 'claude', 'StatusLine', '--seat', folder]
  const hook = (event: string, more: Record<string, unknown>) => [
    {
      hooks: [
        { type: 'command', command: process.execPath, args: [BIN, 'hook', 'claude', event, '--seat', folder], ...more },
      ],
    },
  ]
  const deciding = DECIDING_EVENTS.map(event => [
    event,
    hook(event, { timeout: Math.ceil(askDeadlineMs / 1000) + MARGIN_S, onFailure: 'block' }),
  ])
  const progress = PROGRESS_EVENTS.map(event => [event, hook(event, { timeout: PROGRESS_S })])
  return {
    disableAllHooks: false,
    disableSkillShellExecution: true,
    claudeMdExcludes: [...NEVER_IMPORTED],
    env,
    // The status line reports the cost, which nothing else does before the end; and it shows a viewer who judges.
    statusLine: { type: 'command', command: statusCommand.map(quoteForShell).join(' ') },
    hooks: Object.fromEntries([...deciding, ...progress]),
  }
}

/** Which settings files are loaded. */
function sourcesFor({ settingSources, hooksOff }: OpenSession): OpenSession['settingSources'] {
  return hooksOff ? settingSources.filter(source => source === 'user') : settingSources
}

type Env = Record<string, string>

/** Where Claude Code finds its own settings, so that it does not ask about trust or a first start. */
export interface ConfigLayer {
  /** The folder that it uses, with its state files. */
  directory: string
  env: Env
}

/** With any of these variables Claude Code needs no stored login. */
const CREDENTIALS = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_USE_FOUNDRY',
]
/** Files that belong to one process, or that would mix up two; the state file itself is one of them. */
const NOT_SHARED = new Set([
  '.claude.json',
  '.credentials.json',
  'sessions',
  'backups',
  'ide',
  'session-env',
  'shell-snapshots',
])
/** Created in the person's own folder. Conversations are kept there, so that every host can resume them and their cost is counted. */
const CREATED = ['projects']

/**
 * An interactive Claude Code shows three dialogs before it works: its introduction, whether the folder is trusted, and whether a
 * key of the environment may be used. Whether the project is trusted was settled before (`pcc trust`) and decides what is
 * loaded at all. The person's own files are not written:
 *
 * - With a key or token in the environment Claude Code gets a folder of its session, in which these questions are answered and
 *   everything else of the person's folder is linked.
 * - With a stored login it works in the person's own folder, because a login cannot be linked (Claude Code refuses to follow the
 *   link) and a copy would become outdated when the login is renewed. A person who has logged in has seen the introduction; a
 *   variable answers the question about trust.
 */
export function prepareConfig(folder: TmuxSessionFolder, { env, cwd }: { env: Env; cwd: string }): ConfigLayer {
  const own = env['CLAUDE_CONFIG_DIR'] ?? join(env['HOME'] ?? homedir(), '.claude')
  if (!hasCredential(env)) {
    // Claude Code would ask a person to log in, and wait.
    if (readOwn(own, env)['hasCompletedOnboarding'] !== true) throw notLoggedIn(claudeAgent)
    return { directory: own, env: { CLAUDE_CODE_SANDBOXED: '1' } }
  }
  const directory = join(folder.path, 'config')
  mkdirSync(directory, { mode: 0o700 })
  for (const name of CREATED) mkdirSync(join(own, name), { recursive: true, mode: 0o700 })
  for (const name of readdirSync(own)) {
    if (!NOT_SHARED.has(name)) symlinkSync(join(own, name), join(directory, name))
  }
  folder.write('config/.claude.json', JSON.stringify(answerDialogs(readOwn(own, env), { env, cwd })))
  return { directory, env: { CLAUDE_CONFIG_DIR: directory } }
}

function hasCredential(env: Env): boolean {
  return CREDENTIALS.some(name => Boolean(env[name]))
}

/** The person's own state file of Claude Code; empty if Claude Code never ran or the file cannot be read. */
function readOwn(own: string, env: Env): Record<string, unknown> {
  const file = env['CLAUDE_CONFIG_DIR'] ? join(own, '.claude.json') : join(env['HOME'] ?? homedir(), '.claude.json')
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  } catch {
    return {}
  }
}

function answerDialogs(own: Record<string, unknown>, { env, cwd }: { env: Env; cwd: string }): Record<string, unknown> {
  const key = env['ANTHROPIC_API_KEY']
  const projects = own['projects'] as Record<string, object> | undefined
  return {
    ...own,
    hasCompletedOnboarding: true,
    ...(key && { customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] } }),
    projects: { ...projects, [cwd]: { ...projects?.[cwd], hasTrustDialogAccepted: true } },
  }
}

/** Claude Code's naming scheme for a server's tool. */
const FORM = 'mcp__{server}__{tool}'

/** Our tools in a window. Their endpoint outlives the daemon, like the window. */
export interface WindowTools {
  own: OwnTools
  endpoint: ToolEndpoint
}

/** The tools of a new window. Their server gets a name that no earlier one had. */
export function createTools(
  { ownTools = [] }: OpenSession,
  { path }: TmuxSessionFolder,
  at: SessionEndpoint,
): WindowTools | undefined {
  if (ownTools.length === 0) return undefined
  const own = new OwnTools(ownTools, FORM)
  return { own, endpoint: createToolEndpoint(path, own.server, at) }
}

/** The tools of a window that an earlier daemon left. */
export function restoreTools({ ownTools = [] }: OpenSession, { path }: TmuxSessionFolder): WindowTools | undefined {
  const endpoint = findToolEndpoint(path)
  return endpoint && { own: new OwnTools(ownTools, FORM, endpoint.server), endpoint }
}

/** Claude Code's configuration of the tool server: loaded before the first prompt, with a long timeout for a person's answer. */
export function mcpConfig({ endpoint }: WindowTools, { path }: TmuxSessionFolder): Record<string, unknown> {
  const server = { type: 'stdio', ...toolServerCommand(path), alwaysLoad: true, timeout: 24 * 3_600_000 }
  return { mcpServers: { [endpoint.server]: server } }
}

/** While a person has the terminal, they are asked there and not by a tool, and nothing is parked. */
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
