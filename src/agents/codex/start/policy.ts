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

interface Place {
  cwd: string
  /** Where its conversations and databases are: the person's own. */
  home: string
  readsProject: boolean
  /** For temporary files, beside the project the only folder that may be written to. */
  temp: string
}

/** The settings of a session, over those of every file. */
export function flagsFor({ cwd, home, readsProject, temp }: Place): string[] {
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
