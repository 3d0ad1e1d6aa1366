/** What any program needs to run as its person: where home is, where programs are, which language. */
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
 * What never travels, whatever the patterns say: our own variables, what changes how programs are loaded (it would run
 * foreign code inside an approved command), npm's, and the marks of a Claude Code that pcc itself was started from.
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
  'CLAUDECODE',
  'CLAUDE_CODE_ENTRYPOINT*',
  'CLAUDE_CODE_SSE_PORT',
  'CLAUDE_CODE_SESSION_*',
  'CLAUDE_CODE_CHILD_SESSION',
  'CLAUDE_CODE_REMOTE_SESSION_*',
  'CLAUDE_CODE_BRIDGE_*',
]

/**
 * `agents.env` as it comes: what a person sets to say which Claude they use and how to reach it. A cloud's own
 * credentials travel only when that cloud is where the model is.
 */
export const STANDARD_AGENT_ENV: readonly string[] = [
  'ANTHROPIC_*',
  'CLAUDE_CODE_*',
  'CLAUDE_CONFIG_DIR',
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

/** The part of an environment that an agent may see: an allow-list, minus what never travels. */
export function agentEnvironment(
  env: Record<string, string | undefined>,
  patterns: readonly string[],
): Record<string, string> {
  const wanted = [...BASE, ...patterns.flatMap(pattern => whenItHolds(pattern, env))]
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || matchesAny(name, NEVER) || !matchesAny(name, wanted)) continue
    passed[name] = value
  }
  return passed
}

/** `AWS_* if CLAUDE_CODE_USE_BEDROCK` is `AWS_*` where that flag is on, and nothing elsewhere. */
function whenItHolds(pattern: string, env: Record<string, string | undefined>): string[] {
  const [name = '', condition] = pattern.split(' if ')
  return condition === undefined || isOn(env[condition]) ? [name] : []
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && !['', '0', 'false', 'no', 'off'].includes(value.toLowerCase())
}

function matchesAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some(pattern => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern))
}
