import { WRITING_TOOLS } from '../../domain/file-tools.ts'
import type { OpenSession } from '../../domain/session.ts'
import type { CodexCalls } from './calls.ts'
import { type CommandAsk, ItemNotice, TerminalInput, ThreadSettings } from './wire.ts'

/** Codex asks about everything, and asks us, not a model of the vendor that reviews in a person's place. */
export const POLICY = { approvalPolicy: 'untrusted', approvalsReviewer: 'user' } as const

/**
 * Features that bypass the approvals, switched off. A hook of a file may answer an approval in our place; a terminal takes input without an
 * ask; images are read, the web is searched, agents are started, and goals begin turns of their own without an ask.
 */
const OFF = [
  'hooks',
  'unified_exec_tty',
  'view_image',
  'image_generation',
  'multi_agent',
  'multi_agent_v2',
  'goals',
  'apps',
  'plugins',
  'remote_plugin',
  'skill_mcp_dependency_install',
  'tool_suggest',
  'computer_use',
  'browser_use',
  'browser_use_external',
  'browser_use_full_cdp_access',
  'in_app_browser',
  'in_app_local_automation',
  'code_mode',
  'code_mode_only',
  'code_mode_host',
  'guardian_approval',
  'request_permissions_tool',
  'exec_permission_approvals',
  'memories',
  'shell_snapshot',
  'daemon_auto_start',
  'standalone_web_search',
]

interface PolicyPaths {
  cwd: string
  /** The person's own home, with Codex's conversations and databases. */
  home: string
  readsProject: boolean
  /** The folder for temporary files: beside the project the only writable folder. */
  temp: string
}

/** The settings of a session, which override those of every file. */
export function flagsFor({ cwd, home, readsProject, temp }: PolicyPaths): string[] {
  const settings: Record<string, string> = {
    ...Object.fromEntries(OFF.map(feature => [`features.${feature}`, 'false'])),
    'features.default_mode_request_user_input': 'true',
    suppress_unstable_features_warning: 'true',
    'tools.update_plan.enabled': 'true',
    web_search: '"disabled"',
    sandbox_mode: '"workspace-write"',
    'sandbox_workspace_write.network_access': 'false',
    'sandbox_workspace_write.writable_roots': `[${quoteToml(temp)}]`,
    'sandbox_workspace_write.exclude_slash_tmp': 'true',
    'sandbox_workspace_write.exclude_tmpdir_env_var': 'true',
    allow_login_shell: 'true',
    'shell_environment_policy.inherit': '"all"',
    'shell_environment_policy.ignore_default_excludes': 'true',
    check_for_update_on_startup: 'false',
    'analytics.enabled': 'false',
    notify: '[]',
    sqlite_home: quoteToml(home),
    // The project's settings, rules, hooks and servers are not trusted; and without this setting Codex records trust by itself.
    projects: `{${quoteToml(cwd)}={trust_level="untrusted"}}`,
    ...(!readsProject && { project_doc_max_bytes: '0' }),
  }
  return Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])
}

/** A JSON string is also a TOML string. */
function quoteToml(value: string): string {
  return JSON.stringify(value)
}

/** Tools that change something, or can. */
const CHANGERS: ReadonlySet<string> = new Set(['Bash', ...WRITING_TOOLS])
const READING_ACTIONS = new Set(['read', 'listFiles', 'search'])

/** Whether a session has a list of tools without any that changes something: then Codex's sandbox lets it write nothing. */
export function mayOnlyRead({ tools }: Pick<OpenSession, 'tools'>): boolean {
  return tools !== undefined && !tools.some(tool => CHANGERS.has(tool))
}

/** Whether a command only reads, according to Codex itself. The sandbox enforces it. */
export function isReadingCommand({ commandActions }: CommandAsk): boolean {
  const actions = commandActions ?? []
  return actions.length > 0 && actions.every(({ type }) => READING_ACTIONS.has(type))
}

/**
 * Why a session may not use a tool; undefined when it may. Codex has no tools for reading, only its shell: a session that may read may use
 * the shell for commands that only read.
 */
export function explainToolDenied(
  tool: string,
  { tools, disallowedTools, readsOnly }: { tools: string[] | undefined; disallowedTools: string[]; readsOnly: boolean },
): string | undefined {
  const isGiven =
    tools === undefined || tools.includes(tool) || (tool === 'Bash' && readsOnly && tools.includes('Read'))
  if (isGiven && !disallowedTools.includes(tool)) return undefined
  if (tool === 'Bash' && tools?.includes('Read'))
    return 'Not allowed: this session may only read. Use plain commands that read (cat, ls, grep), one at a time.'
  return `Not allowed: this session has no ${tool}. Go on without it.`
}

/** Why a session must end at once, judged by notifications of any conversation: a call ran without being judged, or may. */
export function findBreach(method: string, params: unknown, calls: CodexCalls): string | undefined {
  const call = findUnjudged(method, params, calls)
  if (call !== undefined) return `A tool call ran without being judged, so the session was ended: ${call}`
  const settings = method === 'thread/settings/updated' ? ThreadSettings.safeParse(params).data : undefined
  const { approvalPolicy, approvalsReviewer } = settings?.threadSettings ?? POLICY
  if (approvalPolicy === POLICY.approvalPolicy && approvalsReviewer === POLICY.approvalsReviewer) return undefined
  return 'Codex changed its approval policy by itself, so the session was ended.'
}

function findUnjudged(method: string, params: unknown, calls: CodexCalls): string | undefined {
  const item = method === 'item/completed' ? ItemNotice.safeParse(params).data?.item : undefined
  const typed =
    method === 'item/commandExecution/terminalInteraction' ? TerminalInput.safeParse(params).data : undefined
  return (item && calls.unjudged(item)) ?? (typed?.stdin ? `input to a running command (${typed.itemId})` : undefined)
}
