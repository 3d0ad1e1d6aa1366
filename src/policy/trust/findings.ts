import { isObject } from '../../base/json.ts'
/** One thing in a project's file that runs code or widens rights. `kind` is a word for notes, `text` is what a person agrees to. */
export interface TrustFinding {
  kind: string
  text: string
  /**
   * Set if it may bring in a `PermissionRequest` hook. Such a hook races our own answer, and the first answer wins: it could
   * replace a command after we judged it. Every other hook may refuse a call, but cannot change what was judged.
   */
  mayRace?: true
}

/**
 * Settings of Claude Code that neither run code, nor widen rights, nor touch a person's own data (`cleanupPeriodDays` would
 * delete past conversations). This lists what is harmless, not what is harmful, so that a setting we have never heard of needs
 * agreement.
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

/** The findings in a `settings.json` of Claude Code. */
export function findingsInSettings(text: string): TrustFinding[] {
  const settings = parseObject(text)
  if (!settings) return [unreadable]
  return Object.entries(settings).flatMap(([key, value]): TrustFinding[] => {
    if (HARMLESS_SETTINGS.has(key)) return []
    if (key === 'outputStyle' && /^(default|explanatory|learning)$/i.test(String(value))) return []
    if (key === 'hooks') return hooksIn(value)
    if (key === 'env') return environmentIn(value)
    if (key === 'permissions') return permissionsIn(value)
    return [{ kind: key, text: `${key}: ${showValue(value)}`, ...(/plugin/i.test(key) && racing) }]
  })
}

/** The servers that a `.mcp.json` would start or call. */
export function findingsInMcp(text: string): TrustFinding[] {
  const file = parseObject(text)
  if (!file) return [unreadable]
  const servers = isObject(file['mcpServers']) ? file['mcpServers'] : {}
  return Object.entries(servers).map(([name, server]) => ({
    kind: 'MCP servers',
    text: `MCP server ${name}: ${showValue(server)}`,
  }))
}

/** A value of a repository's file in a form that is safe to show: on one line, capped, without control characters. */
export function showValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  const plain = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, sign => `\\u{${sign.codePointAt(0)?.toString(16)}}`)
  return plain.length > 400 ? `${plain.slice(0, 397)}…` : plain
}

/** The event whose hooks race our own answer. */
export const RACING_EVENT = 'PermissionRequest'
export const racing = { mayRace: true } as const
/** The finding for a file that cannot be parsed: it may contain anything. */
export const unreadable: TrustFinding = {
  kind: 'a form that cannot be read',
  text: 'not valid, so it is not known what it does',
  ...racing,
}

function hooksIn(value: unknown): TrustFinding[] {
  if (!isObject(value)) return [{ kind: 'hooks', text: `hooks: ${showValue(value)}`, ...racing }]
  return Object.entries(value).flatMap(([event, matchers]) =>
    (Array.isArray(matchers) ? matchers : [matchers]).flatMap((entry: unknown) => {
      const matcher = isObject(entry) && typeof entry['matcher'] === 'string' ? ` (${entry['matcher']})` : ''
      const hooks = isObject(entry) && Array.isArray(entry['hooks']) ? entry['hooks'] : [entry]
      return hooks.map((hook: unknown) => ({
        kind: 'hooks',
        text: showValue(`hook ${event}${matcher}: ${describeHook(hook)}`),
        ...(event === RACING_EVENT && racing),
      }))
    }),
  )
}

function describeHook(hook: unknown): string {
  const plain =
    isObject(hook) && Object.keys(hook).every(key => key === 'type' || key === 'command' || key === 'timeout')
  return plain && typeof hook['command'] === 'string' ? hook['command'] : JSON.stringify(hook)
}

function environmentIn(value: unknown): TrustFinding[] {
  if (!isObject(value)) return [{ kind: 'env', text: `env: ${showValue(value)}` }]
  return Object.entries(value).map(([name, to]) => ({ kind: 'env', text: showValue(`env ${name}=${String(to)}`) }))
}

function permissionsIn(value: unknown): TrustFinding[] {
  if (!isObject(value)) return [{ kind: 'permissions', text: `permissions: ${showValue(value)}` }]
  return Object.entries(value).flatMap(([key, rules]): TrustFinding[] => {
    if (HARMLESS_PERMISSIONS.has(key)) return []
    if (key !== 'allow' || !Array.isArray(rules))
      return [{ kind: `permissions.${key}`, text: `permissions.${key}: ${showValue(rules)}` }]
    return rules.map(rule => ({ kind: 'allow rules', text: `allow ${showValue(rule)}` }))
  })
}

function parseObject(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** What a project's rules would allow. Its ask and deny rules only restrict, so they need no agreement. */
export async function findingsInRules(file: string, content: string): Promise<TrustFinding[]> {
  const [{ describeRule }, { parseRules }] = await Promise.all([
    import('../verdict/rules.ts'),
    import('../verdict/rules-file.ts'),
  ])
  try {
    const rules = parseRules(file, content).map(entry => entry.rule)
    return rules
      .filter(rule => rule.effect === 'allow')
      .map(rule => ({ kind: 'allow rules', text: describeRule(rule) }))
  } catch {
    return [] // an invalid file allows nothing, even if somebody agrees to it
  }
}
