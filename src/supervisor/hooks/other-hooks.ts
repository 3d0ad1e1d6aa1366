import { type Dirent, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { readRegularFileNow } from '../../base/files.ts'
import { isObject, parseJson } from '../../base/json.ts'
import { commandOf } from '../../base/process/process-table.ts'
import { findingsInSettings } from '../../policy/trust/findings.ts'
import { trustStatus } from '../../policy/trust/trust.ts'

export interface SettingsQuery {
  paths: AppPaths
  /** The vendor's environment. */
  env: Record<string, string | undefined>
  project: string
  /** The vendor's process, if it was found. */
  pid?: number | undefined
}

/**
 * Whether another hook may change a call of Claude Code after we judged it: its hooks before a call run at once, and the last to
 * finish may replace the input. `true` where that is not known: the call is then allowed in the dialog, where it can no longer change.
 */
export async function mayOthersChangeInput(place: SettingsQuery): Promise<boolean> {
  const { paths, env, project, pid } = place
  if (pid === undefined || hasOwnFlags(pid)) return true
  const folder = env['CLAUDE_CONFIG_DIR'] || join(env['HOME'] ?? '/', '.claude')
  const settings = [join(folder, 'settings.json'), ...managedSettings()]
  if (settings.some(file => hasHooks(file, paths))) return true
  if (['agents', 'commands', 'skills', 'plugins'].some(name => hasFiles(join(folder, name)))) return true
  const { files } = await trustStatus(paths, project)
  return files.some(({ kind, contains }) => {
    return LOADED.has(kind) && contains.some(finding => finding.kind === 'hooks' || finding.mayRace)
  })
}

/** What Claude Code loads of a project. */
const LOADED: ReadonlySet<string> = new Set(['settings', 'local', 'prompts'])

/** Flags that bring in settings, plugins or agents that are in none of the files we look at. */
function hasOwnFlags(pid: number): boolean {
  const command = commandOf(pid)
  return command === '' || /\s--(settings|plugin-dir|agents|managed-settings)\b/.test(command)
}

function managedSettings(): string[] {
  const folder = process.platform === 'darwin' ? '/Library/Application Support/ClaudeCode' : '/etc/claude-code'
  const more = join(folder, 'managed-settings.d')
  return [join(folder, 'managed-settings.json'), ...listEntries(more).map(({ name }) => join(more, name))]
}

/** Far more than settings have. */
const MOST_BYTES = 4_000_000

/** Whether a settings file has hooks other than ours, or plugins, or cannot be read. */
function hasHooks(file: string, { home }: AppPaths): boolean {
  const text = readText(file)
  if (text === undefined) return false
  const settings = parseJson(text)
  if (!isObject(settings)) return true
  const others = isObject(settings['hooks'])
    ? withoutOwn(settings['hooks'], join(home, 'hooks', 'run'))
    : settings['hooks']
  return findingsInSettings(JSON.stringify({ ...settings, hooks: others })).some(({ kind, mayRace }) => {
    return kind === 'hooks' || mayRace === true
  })
}

/** The hooks of a settings file without those that run our launcher. */
function withoutOwn(hooks: Record<string, unknown>, launcher: string): Record<string, unknown> {
  const isOwn = (hook: unknown) => isObject(hook) && hook['command'] === launcher
  const entries = Object.entries(hooks).map(([event, matchers]) => {
    const left = [matchers].flat().flatMap(matcher => {
      const inside = isObject(matcher) && Array.isArray(matcher['hooks']) ? matcher['hooks'] : [matcher]
      return inside.filter(hook => !isOwn(hook))
    })
    return [event, left]
  })
  return Object.fromEntries(entries)
}

/** Claude Code keeps notes about its built-in plugins here; no plugin is installed here. */
const PLUGIN_NOTES = 'store'

/** The person's own agents, commands, skills and plugins may declare hooks too; they are not read. Empty folders count for nothing. */
function hasFiles(folder: string, depth = 3): boolean {
  return listEntries(folder).some(entry => {
    if (entry.isDirectory() && entry.name === PLUGIN_NOTES && basename(folder) === 'plugins') return false
    return !entry.isDirectory() || depth === 0 || hasFiles(join(folder, entry.name), depth - 1)
  })
}

function listEntries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return [] // there is none
  }
}

/** The text of a file; undefined if it is missing, empty if it cannot be read, which counts as unreadable settings. */
function readText(file: string): string | undefined {
  const bytes = readRegularFileNow(file, MOST_BYTES)
  if (bytes) return bytes.toString('utf8')
  try {
    statSync(file)
    return ''
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : ''
  }
}
