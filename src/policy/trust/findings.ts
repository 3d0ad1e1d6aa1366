/** One thing in a project's file that runs code or widens rights. `kind` is the word for notes, `text` what is agreed to. */
export interface Finding {
  kind: string
  text: string
  /**
   * It may bring in a `PermissionRequest` hook. Such a hook races our own answer, and the first one wins: it could replace
   * a command after we judged it. Every other hook may refuse a call, but not change what was judged.
   */
  mayRace?: true
}

/**
 * Settings of Claude Code that neither run code nor widen rights nor touch a person's own data (`cleanupPeriodDays` would
 * delete past conversations). A list of what is harmless, not of what is not, so that a setting we have never heard of is
 * asked about.
 */
const HARMLESS_SETTINGS = new Set([
  '$schema',
  'alwaysThinkingEnabled',
  'attribution',
  'deniedMcpServers',
  'disabledMcpjsonServers',
  'disableAutoMode',
  'disableBypassPermissionsMode',
  'disableSkillShellExecution',
  'effortLevel',
  'includeCoAuthoredBy',
  'includeGitInstructions',
  'language',
  'model',
  'outputStyle',
  'respectGitignore',
  'spinnerTipsEnabled',
])

const HARMLESS_PERMISSIONS = new Set([
  'ask',
  'blockReadsOutsideWorkingDirectories',
  'blockWritesOutsideWorkingDirectories',
  'deny',
  'disableAutoMode',
  'disableBypassPermissionsMode',
])

/** What a `settings.json` of Claude Code would bring in. */
export function findingsInSettings(text: string): Finding[] {
  const settings = objectFrom(text)
  if (!settings) return [unreadable]
  return Object.entries(settings).flatMap(([key, value]): Finding[] => {
    if (HARMLESS_SETTINGS.has(key)) return []
    if (key === 'hooks') return hooksIn(value)
    if (key === 'env') return environmentIn(value)
    if (key === 'permissions') return permissionsIn(value)
    return [{ kind: key, text: `${key}: ${shown(value)}`, ...(/plugin/i.test(key) && racing) }]
  })
}

/** The servers a `.mcp.json` would start or call. */
export function findingsInMcp(text: string): Finding[] {
  const file = objectFrom(text)
  if (!file) return [unreadable]
  const servers = isObject(file['mcpServers']) ? file['mcpServers'] : {}
  return Object.entries(servers).map(([name, server]) => ({
    kind: 'MCP servers',
    text: `MCP server ${name}: ${shown(server)}`,
  }))
}

/** A value of a repository's file as it may be shown: on one line, capped, nothing in it that a terminal would obey. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  const plain = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, sign => `\\u{${sign.codePointAt(0)?.toString(16)}}`)
  return plain.length > 400 ? `${plain.slice(0, 397)}…` : plain
}

/** The event whose hooks race our own answer. */
export const RACING_EVENT = 'PermissionRequest'
export const racing = { mayRace: true } as const
/** Said of what cannot be parsed: anything may be in it. */
export const unreadable: Finding = {
  kind: 'a form that cannot be read',
  text: 'not valid, so what it does cannot be told',
  ...racing,
}

function hooksIn(value: unknown): Finding[] {
  if (!isObject(value)) return [{ kind: 'hooks', text: `hooks: ${shown(value)}`, ...racing }]
  return Object.entries(value).flatMap(([event, matchers]) =>
    (Array.isArray(matchers) ? matchers : [matchers]).flatMap((entry: unknown) => {
      const matcher = isObject(entry) && typeof entry['matcher'] === 'string' ? ` (${entry['matcher']})` : ''
      const hooks = isObject(entry) && Array.isArray(entry['hooks']) ? entry['hooks'] : [entry]
      return hooks.map((hook: unknown) => ({
        kind: 'hooks',
        text: shown(`hook ${event}${matcher}: ${hookWords(hook)}`),
        ...(event === RACING_EVENT && racing),
      }))
    }),
  )
}

function hookWords(hook: unknown): string {
  const plain =
    isObject(hook) && Object.keys(hook).every(key => key === 'type' || key === 'command' || key === 'timeout')
  return plain && typeof hook['command'] === 'string' ? hook['command'] : JSON.stringify(hook)
}

function environmentIn(value: unknown): Finding[] {
  if (!isObject(value)) return [{ kind: 'env', text: `env: ${shown(value)}` }]
  return Object.entries(value).map(([name, to]) => ({ kind: 'env', text: shown(`env ${name}=${String(to)}`) }))
}

function permissionsIn(value: unknown): Finding[] {
  if (!isObject(value)) return [{ kind: 'permissions', text: `permissions: ${shown(value)}` }]
  return Object.entries(value).flatMap(([key, rules]): Finding[] => {
    if (HARMLESS_PERMISSIONS.has(key)) return []
    if (key !== 'allow' || !Array.isArray(rules))
      return [{ kind: `permissions.${key}`, text: `permissions.${key}: ${shown(rules)}` }]
    return rules.map(rule => ({ kind: 'allow rules', text: `allow ${shown(rule)}` }))
  })
}

function objectFrom(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
