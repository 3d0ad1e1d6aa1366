import { AppError } from '../../base/errors.ts'
import { nearest } from '../../base/nearest.ts'
import { isSettingKey, SETTING_KEYS, type SettingKey, settingOf } from './settings.ts'

/** The full key of what a person typed: itself, a short name of the manual, or an ending that only one key has. */
export function settingNamed(name: string): SettingKey {
  if (isSettingKey(name)) return name
  const alias = SETTING_KEYS.find(key => settingOf(key).also?.includes(name))
  if (alias) return alias
  const endings = SETTING_KEYS.filter(key => key.endsWith(`.${name}`))
  const [only, ...more] = endings
  if (only && more.length === 0) return only
  if (only) throw new AppError('config_ambiguous_key', { key: name, matches: endings.join(', ') })
  throw new AppError('config_unknown_key', { key: name, suggestion: suggestionFor(name) })
}

/** `; did you mean "brain.type"?`, or a full stop where nothing is near. */
export function suggestionFor(name: string): string {
  const near = nearestKey(name) ?? nearestSection(name)
  return near ? `; did you mean "${near}"?` : '.'
}

/** The setting whose name a mistyped one was probably meant to be. */
export function nearestKey(name: string): string | undefined {
  const forms = SETTING_KEYS.flatMap(key =>
    [key, key.split('.').at(-1) ?? key, ...(settingOf(key).also ?? [])].map(form => ({ form, means: key })),
  )
  return nearest(name, forms)
}

function nearestSection(name: string): string | undefined {
  const sections = [...new Set(SETTING_KEYS.map(key => key.slice(0, key.lastIndexOf('.'))))]
  const typed = name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : name
  if (sections.includes(typed)) return undefined
  return nearest(
    typed,
    sections.map(section => ({ form: section, means: `[${section}]` })),
  )
}
