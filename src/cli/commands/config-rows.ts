import { isAbsolute } from 'node:path'
import { formatToml } from '../../base/toml-edit.ts'
import { type LoadedConfig, loadConfig } from '../../domain/config/load.ts'
import { findSetting } from '../../domain/config/parse-setting.ts'
import { isReference } from '../../domain/config/secret-references.ts'
import { isInForce, SETTING_KEYS, type SettingKey, settingOf } from '../../domain/config/settings.ts'
import type { CommandContext } from '../context.ts'
import type { Tone } from '../render/text.ts'

/** One setting as `pcc config show --json` prints it. */
interface SettingRow {
  key: SettingKey
  /** `null` if it is not set and has no default; a secret is masked unless `--reveal` is given. */
  value: unknown
  default: unknown
  origin: string
  in_force: boolean
  /** The project's file sets another value, which needs `pcc trust` first. */
  waits_for_trust: boolean
  about: string
}

interface ShowOptions {
  project: string
  reveal?: boolean
  /** `--data-dir` */
  dataDir: string | undefined
}

/** `pcc config get`: prints one setting. */
export async function showSetting(name: string, options: ShowOptions, context: CommandContext): Promise<void> {
  const key = findSetting(name)
  const row = settingRow(await loadProjectConfig(options, context), key, options.reveal === true)
  context.out(context.json ? JSON.stringify(row, null, 2) : bareValue(row.value))
}

/** The settings as a project sees them, including project settings that the user trusts. */
async function loadProjectConfig(
  { project, dataDir }: ShowOptions,
  { paths, env, note }: CommandContext,
): Promise<LoadedConfig> {
  const flags = dataDir === undefined ? {} : { 'data.directory': paths.data }
  const loaded = await loadConfig({ paths, env, project, flags })
  for (const warning of loaded.warnings) note(`${warning}.`)
  if (loaded.untrusted.length === 0) return loaded
  const { trustedFile, trustStatus } = await import('../../policy/trust/trust.ts')
  return loadConfig({ paths, env, project, flags, trusted: trustedFile(await trustStatus(paths, project)) })
}

/** One setting with where its value came from. */
function settingRow(loaded: LoadedConfig, key: SettingKey, reveal: boolean): SettingRow {
  const setting = settingOf(key)
  return {
    key,
    value: maskSecret(key, loaded.values[key], reveal) ?? null,
    default: setting.standard ?? null,
    origin: loaded.origin(key),
    in_force: isInForce(key),
    waits_for_trust: loaded.untrusted.includes(key),
    about: setting.about,
  }
}

/** A value as it may be shown: a secret is masked, unless it only names a variable. */
export function maskSecret(key: SettingKey, value: unknown, reveal: boolean): unknown {
  if (!settingOf(key).secret || reveal || typeof value !== 'string' || isReference(value)) return value
  return '********'
}

/** A value on one line, in TOML syntax. */
export function formatValue(value: unknown): string {
  return value === null || value === undefined ? '(not set)' : formatToml(value as Parameters<typeof formatToml>[0])
}

/** A value for a script: text without quotes, one line for each item of a list, and an empty line for what is not set. */
function bareValue(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  const isPlainList = Array.isArray(value) && value.every(item => typeof item === 'string' && !item.includes('\n'))
  return isPlainList ? value.join('\n') : formatValue(value)
}

/** A longer list is shown as its number of values; `config get` prints it in full. */
const MAX_VALUE_WIDTH = 60

/** Prints every setting with its value, where it came from, and whether it is in force yet. */
export async function showConfig(options: ShowOptions & { origin?: boolean }, context: CommandContext): Promise<void> {
  const loaded = await loadProjectConfig(options, context)
  const rows = (context.json ? SETTING_KEYS : keysBySection()).map(key =>
    settingRow(loaded, key, options.reveal === true),
  )
  if (context.json) {
    const files = { user: loaded.userFile ?? null, project: loaded.projectFile ?? null }
    context.out(JSON.stringify({ settings: rows, files, waits_for_trust: loaded.untrusted }, null, 2))
    return
  }
  const table = rows.map(row => settingCells(row, options.origin === true, context.env['HOME']))
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map(cells => cells[column]?.text.length ?? 0)))
  let section = ''
  for (const [index, cells] of table.entries()) {
    const itsSection = sectionOf(rows[index]?.key ?? '')
    if (itsSection !== section)
      context.out(`${section === '' ? '' : '\n'}${context.terminal.paint('bold', `[${itsSection}]`)}`)
    section = itsSection
    const used = cells.slice(0, cells.findLastIndex(cell => cell.text !== '') + 1)
    const texts = used.map(({ text, tone }, column) => {
      const padded = column === used.length - 1 ? text : text.padEnd(widths[column] ?? 0)
      return tone ? context.terminal.paint(tone, padded) : padded
    })
    context.out(texts.join('  '))
  }
  for (const line of footer(loaded, context)) context.out(line)
}

function sectionOf(key: string): string {
  return key.slice(0, key.lastIndexOf('.'))
}

/** All keys, those of a section together, in the order in which the sections are first named. */
function keysBySection(): SettingKey[] {
  return [...Map.groupBy(SETTING_KEYS, sectionOf).values()].flat()
}

interface Cell {
  text: string
  tone?: Tone
}

function settingCells(row: SettingRow, origin: boolean, home: string | undefined): Cell[] {
  const remarks = [
    ...(row.in_force ? [] : ['not yet in force']),
    ...(row.waits_for_trust ? ['the project sets another value: pcc trust'] : []),
  ]
  return [
    { text: row.key.slice(sectionOf(row.key).length + 1) },
    { text: shortenValue(row) },
    ...(origin ? [{ text: abbreviateHome(row.origin, home), tone: 'cyan' as const }] : []),
    { text: remarks.join('; '), tone: row.waits_for_trust ? 'yellow' : 'dim' },
  ]
}

function shortenValue({ key, value }: SettingRow): string {
  const full = formatValue(value)
  if (full.length <= MAX_VALUE_WIDTH) return full
  return Array.isArray(value)
    ? `(${value.length} values: pcc config get ${key})`
    : `${full.slice(0, MAX_VALUE_WIDTH - 1)}…`
}

function footer(loaded: LoadedConfig, { paths, env, terminal }: CommandContext): string[] {
  const home = env['HOME']
  const lines = [
    '',
    `User file:    ${loaded.userFile ? abbreviateHome(loaded.userFile, home) : `${abbreviateHome(paths.configFile, home)} (none yet)`}`,
    ...(loaded.projectFile ? [`Project file: ${abbreviateHome(loaded.projectFile, home)}`] : []),
  ]
  return lines.map(line => terminal.paint('dim', line))
}

function abbreviateHome(path: string, home: string | undefined): string {
  return home && isAbsolute(path) && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
