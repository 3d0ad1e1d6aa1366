import type { OpenSession } from '../../domain/session.ts'
import type { CodexCalls } from './calls.ts'
import { type CommandAsk, ItemNotice, TerminalInput, ThreadSettings } from './wire.ts'

/** Everything is asked, and it is us who is asked: not a model of the vendor's that reviews in a person's place. */
export const POLICY = { approvalPolicy: 'untrusted', approvalsReviewer: 'user' } as const

/**
 * What Codex can do past its approvals is off. A hook of a file may answer an approval in our place; a terminal takes input that nobody is
 * asked about; images are read, the web is searched, agents are started, and goals go on with a turn of their own without a question.
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
  /** Where its conversations and databases are: the person's own. */
  home: string
  readsProject: boolean
  /** For temporary files, beside the project the only folder that may be written to. */
  temp: string
}

/** The settings of a session, over those of every file. */
export function flagsFor({ cwd, home, readsProject, temp }: PolicyPaths): string[] {
  const settings: Record<string, string> = {
    ...Object.fromEntries(OFF.map(feature => [`features.${feature}`, 'false'])),
    'features.default_mode_request_user_input': 'true',
    suppress_unstable_features_warning: 'true',
    'tools.update_plan.enabled': 'true',
    web_search: '"disabled"',
    sandbox_mode: '"workspace-write"',
    'sandbox_workspace_write.network_access': 'false',
    'sandbox_workspace_write.writable_roots': `[${text(temp)}]`,
    'sandbox_workspace_write.exclude_slash_tmp': 'true',
    'sandbox_workspace_write.exclude_tmpdir_env_var': 'true',
    allow_login_shell: 'true',
    'shell_environment_policy.inherit': '"all"',
    'shell_environment_policy.ignore_default_excludes': 'true',
    check_for_update_on_startup: 'false',
    'analytics.enabled': 'false',
    notify: '[]',
    sqlite_home: text(home),
    // Its settings, rules, hooks and servers in the project are not ours to trust; and unless it is told, Codex notes down its own trust.
    projects: `{${text(cwd)}={trust_level="untrusted"}}`,
    ...(!readsProject && { project_doc_max_bytes: '0' }),
  }
  return Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])
}

/** JSON's texts are texts of TOML. */
function text(value: string): string {
  return JSON.stringify(value)
}

/** What changes something, or can. */
const WRITERS = ['Bash', 'Write', 'Edit', 'MultiEdit', 'NotebookEdit']
const READING_ACTIONS = new Set(['read', 'listFiles', 'search'])

/** A session that was given tools, and none that changes anything: Codex's sandbox lets it write nothing. */
export function mayOnlyRead({ tools }: Pick<OpenSession, 'tools'>): boolean {
  return tools !== undefined && !tools.some(tool => WRITERS.includes(tool))
}

/** Whether a command does nothing but read, as Codex itself understands it. Its sandbox stands behind that. */
export function isReadingCommand({ commandActions }: CommandAsk): boolean {
  const actions = commandActions ?? []
  return actions.length > 0 && actions.every(({ type }) => READING_ACTIONS.has(type))
}

/**
 * Why a session may not use a tool; undefined where it may. Codex has no tools to read with, only its shell: a session that may read has the
 * shell for commands that only read.
 */
export function explainToolDenied(
  tool: string,
  of: { tools: string[] | undefined; disallowedTools: string[]; readsOnly: boolean },
): string | undefined {
  const { tools, disallowedTools, readsOnly } = of
  const isGiven =
    tools === undefined || tools.includes(tool) || (tool === 'Bash' && readsOnly && tools.includes('Read'))
  if (isGiven && !disallowedTools.includes(tool)) return undefined
  if (tool === 'Bash' && tools?.includes('Read'))
    return 'Not allowed: this session may only read. Use plain commands that read (cat, ls, grep), one at a time.'
  return `Not allowed: this session has no ${tool}. Go on without it.`
}

/** Why a session must end at once, by what Codex tells of this conversation or another: something ran without having been judged, or may. */
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
