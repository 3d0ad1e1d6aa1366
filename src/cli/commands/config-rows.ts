import { isAbsolute } from 'node:path'
import { formatToml } from '../../base/toml-edit.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'
import { SETTING_KEYS, type SettingKey, settingOf } from '../../domain/config/settings.ts'
import type { CommandContext } from '../context.ts'
import type { Tone } from '../render/text.ts'

/** One setting as `pcc config show --json` prints it. */
interface SettingRow {
  key: SettingKey
  /** `null` when it is not set and has no default; a secret is masked unless it was asked for. */
  value: unknown
  default: unknown
  origin: string
  in_force: boolean
  /** The project's file wants another value, which waits for `pcc trust`. */
  waits_for_trust: boolean
  about: string
}

/** Every setting with where its value came from. */
function settingRows(loaded: LoadedConfig, reveal: boolean): SettingRow[] {
  return SETTING_KEYS.map(key => settingRow(loaded, key, reveal))
}

/** One setting with where its value came from. */
export function settingRow(loaded: LoadedConfig, key: SettingKey, reveal: boolean): SettingRow {
  const setting = settingOf(key)
  return {
    key,
    value: visible(key, loaded.values[key], reveal) ?? null,
    default: setting.standard ?? null,
    origin: loaded.origin(key),
    in_force: setting.inForce,
    waits_for_trust: loaded.untrusted.includes(key),
    about: setting.about,
  }
}

/** A secret as it may be shown: masked, except where the value only names a variable. */
export function visible(key: SettingKey, value: unknown, reveal: boolean): unknown {
  if (!settingOf(key).secret || reveal || typeof value !== 'string' || value.startsWith('env:')) return value
  return '********'
}

/** A value on one line, as TOML writes it. */
export function written(value: unknown): string {
  return value === null || value === undefined ? '(not set)' : formatToml(value as Parameters<typeof formatToml>[0])
}

/** A list longer than this is told by its length; `config get` prints it whole. */
const WIDEST_VALUE = 60

/** Prints every setting, its value, where it came from, and whether anything heeds it yet. */
export function showConfig(
  context: CommandContext,
  loaded: LoadedConfig,
  options: { origin: boolean; reveal: boolean },
): void {
  const rows = settingRows(loaded, options.reveal)
  if (context.json) {
    const files = { user: loaded.userFile ?? null, project: loaded.projectFile ?? null }
    context.out(JSON.stringify({ settings: rows, files, waits_for_trust: loaded.untrusted }, null, 2))
    return
  }
  const table = rows.map(row => cellsOf(row, options.origin, context.env['HOME']))
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map(cells => cells[column]?.text.length ?? 0)))
  let section = ''
  for (const cells of table) {
    const name = cells[0]?.text ?? ''
    const of = name.slice(0, name.lastIndexOf('.'))
    if (section !== '' && of !== section) context.out('')
    section = of
    const used = cells.slice(0, cells.findLastIndex(cell => cell.text !== '') + 1)
    const padded = used.map(({ text, tone }, column) => {
      const wide = column === used.length - 1 ? text : text.padEnd(widths[column] ?? 0)
      return tone ? context.terminal.paint(tone, wide) : wide
    })
    context.out(padded.join('  '))
  }
  for (const line of footer(loaded, context)) context.out(line)
}

interface Cell {
  text: string
  tone?: Tone
}

function cellsOf(row: SettingRow, origin: boolean, home: string | undefined): Cell[] {
  const remarks = [
    ...(row.in_force ? [] : ['not yet in force']),
    ...(row.waits_for_trust ? ['the project wants another: pcc trust'] : []),
  ]
  return [
    { text: row.key },
    { text: shortened(row) },
    ...(origin ? [{ text: tilde(row.origin, home), tone: 'cyan' as const }] : []),
    { text: remarks.join('; '), tone: row.waits_for_trust ? 'yellow' : 'dim' },
  ]
}

function shortened({ key, value }: SettingRow): string {
  const whole = written(value)
  if (whole.length <= WIDEST_VALUE) return whole
  return Array.isArray(value)
    ? `(${value.length} values: pcc config get ${key})`
    : `${whole.slice(0, WIDEST_VALUE - 1)}…`
}

function footer(loaded: LoadedConfig, { paths, env, terminal }: CommandContext): string[] {
  const home = env['HOME']
  const lines = [
    '',
    `User file:    ${loaded.userFile ? tilde(loaded.userFile, home) : `${tilde(paths.configFile, home)} (none yet)`}`,
    ...(loaded.projectFile ? [`Project file: ${tilde(loaded.projectFile, home)}`] : []),
  ]
  return lines.map(line => terminal.paint('dim', line))
}

function tilde(path: string, home: string | undefined): string {
  return home && isAbsolute(path) && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
