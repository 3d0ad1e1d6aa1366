import { parse } from 'yaml'

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

/** Names in the head of an agent, command or skill file that run code or widen rights. */
const HEAD_KINDS: Record<string, string> = {
  hooks: 'hooks',
  mcpservers: 'MCP servers',
  allowedtools: 'allow rules',
  permissionmode: 'a permission mode',
}

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

/** What the head of an agent, command or skill file declares, and whether its text runs commands when it is read. */
export function findingsInPrompt(text: string): Finding[] {
  const found: Finding[] = /!`|^```!/m.test(text)
    ? [{ kind: 'commands in its text', text: 'runs commands when read' }]
    : []
  const head = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1]
  if (head === undefined) return found
  const fields = fieldsOf(head)
  if (!fields) return [...found, unreadable]
  for (const [name, value] of Object.entries(fields)) {
    const kind = HEAD_KINDS[name.toLowerCase().replace(/[-_]/g, '')]
    const races = kind === 'hooks' && JSON.stringify(value ?? null).includes(RACING_EVENT)
    if (kind) found.push({ kind, text: `${name}: ${shown(value)}`, ...(races && racing) })
  }
  return found
}

/** A value of a repository's file as it may be shown: on one line, capped, nothing in it that a terminal would obey. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  const plain = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, sign => `\\u{${sign.codePointAt(0)?.toString(16)}}`)
  return plain.length > 400 ? `${plain.slice(0, 397)}…` : plain
}

const RACING_EVENT = 'PermissionRequest'
const racing = { mayRace: true } as const
const unreadable: Finding = {
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

function fieldsOf(head: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = parse(head)
    return isObject(value) ? value : {}
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
