import { withWholePath } from '../base/search-path.ts'

/** Variables that any program needs to run for its user: home, path, language. */
const BASE = [
  'HOME',
  'PATH',
  'LANG',
  'LANGUAGE',
  'LC_*',
  'TERM',
  'COLORTERM',
  'TZ',
  'USER',
  'LOGNAME',
  'SHELL',
  'TMPDIR',
  'XDG_*',
]

/**
 * Variables that are never passed on, whatever the patterns say: our own, those that change how programs are loaded (they
 * would run foreign code inside an approved command), npm's, and the marks of a Claude Code from which pcc itself was started.
 */
const NEVER = [
  'PCC_*',
  'NODE_OPTIONS',
  'NODE_PATH',
  'NODE_TEST_CONTEXT',
  'NODE_CHANNEL_FD',
  'NODE_UNIQUE_ID',
  'NODE_COMPILE_CACHE',
  'NODE_V8_COVERAGE',
  'npm_*',
  'LD_PRELOAD',
  'LD_AUDIT',
  'DYLD_*',
  'BASH_ENV',
  'ENV',
  'BASH_FUNC_*',
  // Of the service that runs the daemon: where its credentials are, and how to speak for it.
  'CREDENTIALS_DIRECTORY',
  'NOTIFY_SOCKET',
  'WATCHDOG_*',
  'CLAUDECODE',
  'CLAUDE_CODE_ENTRYPOINT*',
  'CLAUDE_CODE_SSE_PORT',
  'CLAUDE_CODE_SESSION_*',
  'CLAUDE_CODE_CHILD_SESSION',
  'CLAUDE_CODE_REMOTE_SESSION_*',
  'CLAUDE_CODE_BRIDGE_*',
  // Claude Code's own switches for hooks, permissions and trust, and those that put another program before a judged command.
  'CLAUDE_CODE_SIMPLE',
  'CLAUDE_CODE_SAFE_MODE',
  'CLAUDE_CODE_EVEN_MORE_DANGEROUSLY_*',
  'CLAUDE_CODE_SHELL_PREFIX',
  'CLAUDE_CODE_SHELL_LAUNCHER_SCRIPT',
  'CLAUDE_CODE_PROCESS_WRAPPER',
  'CLAUDE_CODE_MANAGED_SETTINGS_PATH',
  'CLAUDE_CODE_REMOTE_SETTINGS_PATH',
  'CLAUDE_CODE_PLUGIN_*',
  'CLAUDE_CODE_SYNC_*',
  'CLAUDE_CODE_TEST_*',
  'CLAUDE_CODE_EVAL_*',
  'CLAUDE_CODE_MCP_SERVE_*',
  'CLAUDE_CODE_REMOTE_TOOLS_*',
  'CLAUDE_ENV_FILE',
  'CLAUDE_BG_*',
  'CLAUDE_INTERNAL_*',
]

/** Any variable of Claude Code whose name suggests that it loosens something, including those of later versions. */
const LOOSENING = /^CLAUDE_.*(HOOK|PERMISSION|BYPASS|DANGEROUS|SANDBOX|TRUST)/

/** Variables that any program needs to reach a network. */
export const COMMON_AGENT_ENV: readonly string[] = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'ALL_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'all_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
]

/**
 * The default of `agents.env`: variables that say which Claude a person uses and how to reach it. A cloud's own
 * credentials are passed on only if the model runs in that cloud.
 */
export const STANDARD_AGENT_ENV: readonly string[] = [
  'ANTHROPIC_*',
  // Named one by one: of the 900 variables that Claude Code reads, some change what it asks about, and nobody has reviewed them all.
  'CLAUDE_CODE_OAUTH_*',
  'CLAUDE_CODE_API_*',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_USE_FOUNDRY',
  'CLAUDE_CODE_USE_MANTLE',
  'CLAUDE_CODE_USE_GATEWAY',
  'CLAUDE_CODE_USE_ANTHROPIC_*',
  'CLAUDE_CODE_SKIP_BEDROCK_AUTH',
  'CLAUDE_CODE_SKIP_VERTEX_AUTH',
  'CLAUDE_CODE_SKIP_FOUNDRY_AUTH',
  'CLAUDE_CODE_SKIP_MANTLE_AUTH',
  'CLAUDE_CODE_SKIP_ANTHROPIC_*',
  'CLAUDE_CODE_CLIENT_CERT',
  'CLAUDE_CODE_CLIENT_KEY*',
  'CLAUDE_CODE_CERT_STORE',
  'CLAUDE_CODE_HTTP_PROXY',
  'CLAUDE_CODE_HTTPS_PROXY',
  'CLAUDE_CODE_PROXY_*',
  'CLAUDE_CODE_GATEWAY_*',
  'CLAUDE_CODE_CONNECT_TIMEOUT_MS',
  'CLAUDE_CODE_EXTRA_BODY',
  'CLAUDE_CODE_EXTRA_METADATA',
  'CLAUDE_CODE_MAX_*',
  'CLAUDE_CODE_EFFORT_LEVEL',
  'CLAUDE_CODE_SUBAGENT_MODEL',
  'CLAUDE_CODE_AUTO_COMPACT_WINDOW',
  'CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS',
  'CLAUDE_CODE_ATTRIBUTION_HEADER',
  'CLAUDE_CODE_ENABLE_TELEMETRY',
  'CLAUDE_CODE_ENABLE_TASKS',
  'CLAUDE_CODE_ENABLE_TODO_TOOLS',
  'CLAUDE_CODE_OTEL_*',
  'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC',
  'CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS',
  'CLAUDE_CODE_DISABLE_1M_CONTEXT',
  'CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING',
  'CLAUDE_CODE_DISABLE_THINKING',
  'CLAUDE_CODE_DISABLE_FAST_MODE',
  'CLAUDE_CODE_DISABLE_AUTO_MEMORY',
  'CLAUDE_CODE_DISABLE_CLAUDE_MDS',
  'CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS',
  'CLAUDE_CODE_SHELL',
  'CLAUDE_CODE_TMPDIR',
  'CLAUDE_CONFIG_DIR',
  ...COMMON_AGENT_ENV,
  'API_TIMEOUT_MS',
  'DISABLE_TELEMETRY',
  'DISABLE_ERROR_REPORTING',
  'DISABLE_AUTOUPDATER',
  'DISABLE_PROMPT_CACHING*',
  'MAX_THINKING_TOKENS',
  'AWS_* if CLAUDE_CODE_USE_BEDROCK',
  'AWS_* if CLAUDE_CODE_USE_MANTLE',
  'AWS_* if CLAUDE_CODE_USE_ANTHROPIC_AWS',
  'GOOGLE_* if CLAUDE_CODE_USE_VERTEX',
  'VERTEX* if CLAUDE_CODE_USE_VERTEX',
  'CLOUD_ML_REGION if CLAUDE_CODE_USE_VERTEX',
  'GCLOUD_PROJECT if CLAUDE_CODE_USE_VERTEX',
  'CLOUDSDK_* if CLAUDE_CODE_USE_VERTEX',
  'AZURE_* if CLAUDE_CODE_USE_FOUNDRY',
  'OTEL_* if CLAUDE_CODE_ENABLE_TELEMETRY',
]

/** The part of an environment that an agent may see: the allow-list, without the variables that are never passed on and without relative folders of the PATH. */
export function agentEnvironment(
  env: Record<string, string | undefined>,
  patterns: readonly string[],
): Record<string, string> {
  const wanted = [...BASE, ...patterns.flatMap(pattern => resolveCondition(pattern, env))]
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || isForbidden(name) || !matchesAny(name, wanted)) continue
    passed[name] = value
  }
  return withWholePath(passed)
}

/** `AWS_* if CLAUDE_CODE_USE_BEDROCK` becomes `AWS_*` if that flag is on, and nothing otherwise. */
function resolveCondition(pattern: string, env: Record<string, string | undefined>): string[] {
  const [name = '', condition] = pattern.split(' if ')
  return condition === undefined || isOn(env[condition]) ? [name] : []
}

function isForbidden(name: string): boolean {
  return matchesAny(name, NEVER) || LOOSENING.test(name)
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && !['', '0', 'false', 'no', 'off'].includes(value.toLowerCase())
}

function matchesAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some(pattern => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern))
}
