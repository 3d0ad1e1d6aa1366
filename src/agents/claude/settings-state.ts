import { createHash } from 'node:crypto'
import { type Dirent, lstatSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { readRegularFileNow } from '../../base/files.ts'
import { isObject, parseJson } from '../../base/json.ts'
import type { OpenSession } from '../../domain/session.ts'

/** What a process of Claude Code has read of settings at its start. It reads none of them again. */
export interface SettingsState {
  /** Equal for two starts that read the same. */
  state: string
  /** Why a process with these settings serves one session only. */
  doubt?: string
}

/** Folders of settings whose files are compared by size and time. */
const FOLDERS = ['skills', 'agents', 'commands', 'output-styles', 'rules', 'hooks', 'plugins', 'workflows']
/** Claude Code itself writes there when it starts. */
const OWN_STORE = '/plugins/store'
const MANAGED = '/etc/claude-code/managed-settings.json'
/** Nobody has so many; listing them for every task would cost more than a start. */
const MOST_FILES = 3000
/** The person's own file grows with every project. */
const MOST_BYTES = 64 * 1024 * 1024

/**
 * Names all that a new process would read: settings of the person, the project and the machine, servers, skills, agents and commands.
 * Instructions (CLAUDE.md) are not among them, because they are read again for every conversation.
 */
export function settingsState({ env, cwd, settingSources, sandbox, strictMcp, hooksOff }: OpenSession): SettingsState {
  const config = env['CLAUDE_CONFIG_DIR'] || join(env['HOME'] || homedir(), '.claude')
  const has = (source: OpenSession['settingSources'][number]) => settingSources.includes(source)
  const roots = [...new Set([cwd, ...(sandbox?.git ? [sandbox.git.top] : [])])]
  const files = [
    MANAGED,
    ...(has('user') ? [join(config, 'settings.json'), join(config, 'remote-settings.json')] : []),
    ...roots.flatMap(root => [
      ...(has('project') ? [join(root, '.claude/settings.json')] : []),
      ...(has('local') ? [join(root, '.claude/settings.local.json')] : []),
      ...(strictMcp ? [] : [join(root, '.mcp.json')]),
    ]),
  ]
  const folders = [config, ...roots.map(root => join(root, '.claude'))].flatMap(root =>
    FOLDERS.map(name => join(root, name)),
  )
  const texts = files.map(readText)
  const servers = strictMcp ? '' : serversIn(config, env)
  const listed = listFiles(folders)
  if (!listed) return { state: '', doubt: 'there are too many skills and plugins to compare' }
  const state = createHash('sha256')
    .update(JSON.stringify([files, texts, servers, ...listed]))
    .digest('hex')
  const isHooked =
    !hooksOff &&
    (hasMatch(texts, HOOKS) || hasMatch([...listed.keys()].filter(isOfAgent).map(readText), HOOKS_OF_AGENT))
  const doubt = 'its settings run commands beside the agent'
  return { state, ...((isHooked || hasMatch(texts, HELPERS)) && { doubt }) }
}

// A hook that formats or tests runs code of the project, which the task may have written: it is as good as a shell. Plugins have hooks of their own.
const HOOKS = /"(hooks|enabledPlugins)"\s*:\s*\{\s*[^}\s]/
const HOOKS_OF_AGENT = /^hooks\s*:/m
/** Other settings that name a command. */
const HELPERS = /"\w*(Helper|AuthRefresh|CredentialExport|StatusLine|statusLine|fileSuggestion)"/

function isOfAgent(path: string): boolean {
  return /\/agents\/.*\.md$/.test(path)
}

function hasMatch(texts: readonly (string | undefined)[], pattern: RegExp): boolean {
  return texts.some(text => text !== undefined && pattern.test(text))
}

/** The servers of the person's own file, which Claude Code itself writes all the time. */
function serversIn(config: string, env: OpenSession['env']): string {
  const file = env['CLAUDE_CONFIG_DIR'] ? join(config, '.claude.json') : join(env['HOME'] || homedir(), '.claude.json')
  const value = parseJson(readText(file) ?? '')
  if (!isObject(value)) return ''
  const projects = isObject(value['projects']) ? Object.entries(value['projects']) : []
  const ofProjects = projects.map(([path, project]) => [path, isObject(project) ? project['mcpServers'] : undefined])
  const all = [['', value['mcpServers']], ...ofProjects].filter(([, servers]) => hasEntries(servers))
  return all.length === 0 ? '' : JSON.stringify(all)
}

function hasEntries(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length > 0
}

/** The files in these folders, with what changes when they do. */
function listFiles(folders: string[]): Map<string, string> | undefined {
  const found = new Map<string, string>()
  for (const open = [...folders]; open.length > 0; ) {
    const folder = open.pop() ?? ''
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name)
      if (found.size > MOST_FILES) return undefined
      if (entry.isDirectory() && !path.endsWith(OWN_STORE)) open.push(path)
      const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true })
      if (!entry.isDirectory()) found.set(path, `${stats?.size} ${stats?.mtimeNs} ${stats?.ctimeNs}`)
    }
  }
  return found
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return [] // there is none
  }
}

/** Only of a regular file: an agent may have left a pipe there, and whoever opens one waits for ever. */
function readText(file: string): string | undefined {
  try {
    return readRegularFileNow(file, MOST_BYTES)?.toString('utf8')
  } catch {
    return undefined // there is none
  }
}
