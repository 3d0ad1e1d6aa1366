import { parse } from 'yaml'
import { describeRule } from '../verdict/rules.ts'
import { parseRules } from '../verdict/rules-file.ts'

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

/** The findings in a `settings.json` of Claude Code. */
export function findingsInSettings(text: string): TrustFinding[] {
  const settings = parseObject(text)
  if (!settings) return [unreadable]
  return Object.entries(settings).flatMap(([key, value]): TrustFinding[] => {
    if (HARMLESS_SETTINGS.has(key)) return []
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
const RACING_EVENT = 'PermissionRequest'
const racing = { mayRace: true } as const
/** The finding for a file that cannot be parsed: it may contain anything. */
const unreadable: TrustFinding = {
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Fields in the front matter of an agent, command or skill file that only describe it, or restrict it. As with the settings, this
 * lists what is harmless. Names are compared without `-`, `_` and case.
 */
const HARMLESS_HEAD = new Set([
  'argumenthint',
  'arguments',
  'author',
  'category',
  'color',
  'compatibility',
  'created',
  'date',
  'description',
  'disablemodelinvocation',
  'disallowedtools',
  'effort',
  'id',
  'keywords',
  'license',
  'maxturns',
  'metadata',
  'model',
  'name',
  'namespace',
  'tags',
  'title',
  // The tools that a subagent has at all; each call of them is judged.
  'tools',
  'updated',
  'url',
  'userinvocable',
  'version',
  'whentouse',
])

/** How known other fields are called in notes. */
const HEAD_KINDS: Record<string, string> = {
  hooks: 'hooks',
  mcpservers: 'MCP servers',
  allowedtools: 'allow rules',
  permissionmode: 'a permission mode',
}

/** What the front matter of an agent, command or skill file declares, and whether its text runs commands when it is loaded. */
export function findingsInPrompt(text: string): TrustFinding[] {
  const findings: TrustFinding[] = /!`|```!/.test(text)
    ? [{ kind: 'commands in its text', text: 'runs commands when read' }]
    : []
  const lines = text.replace(/\r\n?/g, '\n')
  const heads = new Set(HEADS.flatMap(form => form.exec(lines)?.[1]?.trimEnd() ?? []))
  for (const finding of [...heads].flatMap(findingsInHead)) {
    if (!findings.some(known => known.text === finding.text)) findings.push(finding)
  }
  return findings
}

/**
 * The front matter as Claude Code 2.1.325 reads it (any space after the dashes, closed by the next three dashes, even in the middle
 * of a line), and as everybody else reads it. What either of them would see counts.
 */
const HEADS = [/^\s*---\s*\n([\s\S]*?)---/, /^\s*---[^\n]*\n([\s\S]*?)\n\s*---/]

function findingsInHead(head: string): TrustFinding[] {
  const fields = parseFields(head)
  if (!fields) return [unreadable]
  return Object.entries(fields).flatMap(([name, value]): TrustFinding[] => {
    const plain = name.toLowerCase().replace(/[-_]/g, '')
    if (HARMLESS_HEAD.has(plain)) return []
    const kind = HEAD_KINDS[plain] ?? showValue(name)
    const races = kind === 'hooks' && JSON.stringify(value ?? null).includes(RACING_EVENT)
    return [{ kind, text: `${showValue(name)}: ${showValue(value)}`, ...(races && racing) }]
  })
}

function parseFields(head: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = parse(head, { logLevel: 'error' })
    if (value === null) return {}
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** What a project's rules would allow. Its ask and deny rules only restrict, so they need no agreement. */
export function findingsInRules(file: string, content: string): TrustFinding[] {
  try {
    const rules = parseRules(file, content).map(entry => entry.rule)
    return rules
      .filter(rule => rule.effect === 'allow')
      .map(rule => ({ kind: 'allow rules', text: describeRule(rule) }))
  } catch {
    return [] // an invalid file allows nothing, even if somebody agrees to it
  }
}
